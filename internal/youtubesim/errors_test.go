package youtubesim_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

func TestRefusalsHaveTheRecordedShape(t *testing.T) {
	dir := shared(t, "recorded/errors")
	for _, c := range []struct {
		file  string
		o     youtubesim.Options
		path  string
		loose bool // the recorded messages are composed: compare without them
	}{
		{"400_invalidPageToken.json", youtubesim.Options{}, oneVideo + "&pageToken=nonsense", false},
		{"400_keyInvalid_modern.COMPOSED.json", youtubesim.Options{RequireKey: "right"}, oneVideo + "&key=wrong", false},
		{"403_quotaExceeded_default_pool.json", youtubesim.Options{Limits: map[string]int64{"units": 0}}, oneVideo, false},
		{"404_chart_notFound_observed_2026.COMPOSED.json", youtubesim.Options{}, "videos?part=id&chart=mostPopular&regionCode=LI", false},
		{"404_playlistNotFound.json", youtubesim.Options{}, "playlistItems?part=id&playlistId=UUnone", false},
		{"429_rateLimitExceeded_per_minute.COMPOSED.json", youtubesim.Options{Faults: faults(t, "429min")}, oneVideo, true},
		{"429_rateLimitExceeded_search_pool_per_day.json", youtubesim.Options{CostTable: "split-2026-06", Faults: faults(t, "429day")}, oneSearch, false},
		{"503_backendError.COMPOSED.json", youtubesim.Options{Faults: faults(t, "503")}, oneVideo, false},
	} {
		t.Run(c.file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(dir, c.file))
			if err != nil {
				t.Fatal(err)
			}
			var want map[string]any
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			status, got := newStand(t, c.o).ask(c.path)
			if code := want["error"].(map[string]any)["code"].(float64); status != int(code) {
				t.Errorf("status %d, want %v", status, code)
			}
			if c.loose {
				withoutMessages(got)
				withoutMessages(want)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %v\nwant %v", got, want)
			}
		})
	}
}

func TestASpentSearchPoolRefusesLikeTheInjectedOne(t *testing.T) {
	_, injected := newStand(t, youtubesim.Options{Faults: faults(t, "429day")}).ask(oneSearch)
	s := newStand(t, youtubesim.Options{CostTable: "classic"})
	for range 100 {
		s.list(oneSearch)
	}
	if _, body := s.ask(oneSearch); reason(body) != "quotaExceeded" { // the units are spent first
		t.Errorf("classic: %v, want \"quotaExceeded\"", body)
	}
	s = newStand(t, youtubesim.Options{CostTable: "split-2026-06"})
	for range 100 {
		s.list(oneSearch)
	}
	if _, spent := s.ask(oneSearch); !reflect.DeepEqual(spent, injected) {
		t.Errorf("got  %v\nwant %v", spent, injected)
	}
	if status, _ := s.ask(oneVideo); status != 200 {
		t.Errorf("videos.list after the searches are spent: status %d, want 200", status)
	}
}

func withoutMessages(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["message"]; ok {
			v["message"] = "…"
		}
		for _, e := range v {
			withoutMessages(e)
		}
	case []any:
		for _, e := range v {
			withoutMessages(e)
		}
	}
}

func faults(t *testing.T, texts ...string) []youtubesim.Fault {
	t.Helper()
	var out []youtubesim.Fault
	for _, s := range texts {
		f, err := youtubesim.ParseFault(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}
