package youtubesim_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

func TestFaultsHitTheCallsTheyName(t *testing.T) {
	for _, c := range []struct {
		faults []string
		want   []int
	}{
		{[]string{"503@3"}, []int{200, 200, 503, 200, 200}},
		{[]string{"500@2-3", "502@3+"}, []int{200, 500, 500, 502, 502}},
		{[]string{"502html"}, []int{502, 502, 502, 502, 502}},
		{[]string{"503:100%"}, []int{503, 503, 503, 503, 503}},
		{[]string{"429min@1", "403quota@2", "429day@3", "badkey@4", "disabled@5"}, []int{429, 403, 429, 400, 403}},
		{[]string{"blank@1", "short@2", "forbidden@3", "processing@4"}, []int{200, 200, 403, 400, 200}},
		{[]string{"408@1", "499@2", "403html@3", "precondition@4", "nolist@5"}, []int{408, 499, 403, 400, 404}},
		{[]string{"badtoken@1", "nochart@2", "empty@3", "slow=1ns@4", "html502@5"}, []int{400, 404, 200, 200, 502}},
	} {
		s := newStand(t, youtubesim.Options{Faults: faults(t, c.faults...)})
		var got []int
		for range c.want {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/youtube/v3/"+oneVideo, nil))
			got = append(got, w.Code)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: statuses %v, want %v", c.faults, got, c.want)
		}
	}
}

func TestFaultsAreCharged(t *testing.T) {
	for _, c := range []struct {
		fault                  string
		free                   bool
		units, refused, burned int64
	}{
		{"503", false, 1, 0, 0}, {"503", true, 0, 0, 0}, {"502html", true, 0, 0, 0}, {"badtoken", true, 1, 0, 0},
		{"empty", true, 1, 0, 0}, {"403quota", false, 0, 1, 0}, {"429min", false, 0, 0, 1}, {"wait=20s", false, 0, 0, 1},
	} {
		s := newStand(t, youtubesim.Options{Faults: faults(t, c.fault), FreeFaults: c.free})
		s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/youtube/v3/"+oneVideo, nil))
		if l := s.Ledger(); l.Units["units"] != c.units || l.Refused["units"] != c.refused || l.PerMinute != c.burned {
			t.Errorf("%s, free %v: ledger %+v, want %v, %v and %v", c.fault, c.free, l, c.units, c.refused, c.burned)
		}
		if log := s.Log(); log[0].Fault != c.fault {
			t.Errorf("log %+v, want %v", log[0], c.fault)
		}
	}
}

func TestASharePerCentIsSeeded(t *testing.T) {
	hits := func(seed uint64) (out []int) {
		s := newStand(t, youtubesim.Options{Seed: seed, Faults: faults(t, "503:10%")})
		for i := range 1000 {
			if status, _ := s.ask("i18nRegions?part=id&fields=kind"); status == 503 {
				out = append(out, i)
			}
		}
		return out
	}
	one := hits(1)
	if len(one) < 70 || len(one) > 130 {
		t.Errorf("10 %% of 1000 calls are %d, want at least 70 and at most 130", len(one))
	}
	if !slices.Equal(one, hits(1)) || slices.Equal(one, hits(2)) {
		t.Errorf("seed 1 hits %v and again %v, seed 2 %v: want the first two alike, and another third", one, hits(1), hits(2))
	}
}

func TestBrokenConnectionsAreCountedAndSeen(t *testing.T) {
	for _, c := range []struct {
		fault  string
		status int // in the log
		want   error
	}{{"drop", 0, io.EOF}, {"reset", 0, syscall.ECONNRESET}, {"truncate", 200, io.ErrUnexpectedEOF}} {
		t.Run(c.fault, func(t *testing.T) {
			s := newStand(t, youtubesim.Options{Faults: faults(t, c.fault)})
			web := httptest.NewServer(s)
			defer web.Close()
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
			r, err := client.Get(web.URL + "/youtube/v3/" + oneVideo)
			if err == nil {
				_, err = io.ReadAll(r.Body)
				_ = r.Body.Close()
			}
			if !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			l := s.Ledger()
			if l.Units["units"] != 1 || len(l.Calls) != 1 || l.Calls[0].Status != c.status {
				t.Errorf("ledger %+v, want 1, 1 and %v", l, c.status)
			}
		})
	}
}

func TestAHugeBodyIsHuge(t *testing.T) {
	s := newStand(t, youtubesim.Options{Faults: faults(t, "hugebody")})
	web := httptest.NewServer(s)
	defer web.Close()
	r, err := web.Client().Get(web.URL + "/youtube/v3/" + oneVideo)
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, r.Body)
	_ = r.Body.Close()
	if err != nil || n < 64<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestLatencyIsWaitedUntilTheCallerGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, youtubesim.Options{Latency: 300 * time.Millisecond, Faults: faults(t, "slow=2s@2")})
		for _, want := range []time.Duration{300 * time.Millisecond, 2300 * time.Millisecond} {
			start := time.Now()
			s.list(oneVideo)
			if got := time.Since(start); got != want {
				t.Errorf("answered after %s, want %s", got, want)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		func() {
			defer func() {
				if got := recover(); got != http.ErrAbortHandler {
					t.Errorf("the handler ended with %v, want %v", got, http.ErrAbortHandler)
				}
			}()
			s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/youtube/v3/"+oneVideo, nil))
		}()
		if got := time.Since(start); got != 100*time.Millisecond {
			t.Errorf("gave up after %s, want 100ms", got)
		}
		if l := s.Ledger(); l.Units["units"] != 3 {
			t.Errorf("ledger %+v: the call that was given up was counted before, want units 3", l)
		}
	})
}

func TestFaultsThatMakeNoSenseAreRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", `fault "": unknown kind "": use one of 500 502`},
		{"504", `fault "504": unknown kind "504": use one of 500 502`},
		{"503=2", `fault "503=2": slow and wait must have a duration, other kinds must not: slow=2s`},
		{"slow", `fault "slow": slow and wait must have a duration, other kinds must not: slow=2s`},
		{"slow=2", `fault "slow=2": "2" is no positive duration: write slow=2s`},
		{"wait=0s", `fault "wait=0s": "0s" is no positive duration: write wait=2s`},
		{"slow=-2s", `fault "slow=-2s": "-2s" is no positive duration: write slow=2s`},
		{"503@", `fault "503@": "" names no calls: write @3, @3-5 or @3+, counted from 1`},
		{"503@0", `names no calls`}, {"503@5-3", `names no calls`}, {"503@3+-5", `names no calls`}, {"503@x", `names no calls`},
		{"503:10", `fault "503:10": "10" is no percentage above 0 and up to 100: write :10%`},
		{"503:0%", `is no percentage`}, {"503:101%", `is no percentage`}, {"503:NaN%", `is no percentage`},
	} {
		if _, err := youtubesim.ParseFault(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %s", c.text, err, c.want)
		}
	}
	for kind := range strings.FieldsSeq("500 502 503 502html 429min 403quota 429day badkey disabled badtoken nochart nolist 407 409 423 425 drop reset truncate empty hugebody slow wait") {
		if !strings.Contains(youtubesim.FaultHelp, kind) {
			t.Errorf("the help says nothing of %s", kind)
		}
	}
}
