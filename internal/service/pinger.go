package service

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/term"
)

const (
	pingWithin   = 5 * time.Second // one ping in all
	maxPingBytes = 10_000          // of a summary
)

// Pinger posts to a dead man's switch in the form of Healthchecks: URL for success, URL/start, URL/fail and
// URL/<exit status>, each with ?rid=<run id>. https://healthchecks.io/docs/http_api/
//
// What goes wrong is logged, once until it goes well again, and never with the URL in it.
type Pinger struct {
	url     ingest.Secret
	version string
	runID   string // ties the pings of this process together
	client  *http.Client

	Log *slog.Logger // hears what goes wrong

	mu      sync.Mutex
	failing bool // and it was logged
}

// NewPinger makes a Pinger for a program of this version.
func NewPinger(address ingest.Secret, version string, log *slog.Logger) *Pinger {
	return &Pinger{
		url: address, version: version, runID: uuid(), Log: log,
		client: &http.Client{
			Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, MaxResponseHeaderBytes: 64 << 10, IdleConnTimeout: 2 * time.Minute, ForceAttemptHTTP2: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// post sends a signal ("start", "fail", an exit status, or "" for success) with what a person wants to know of it.
// It returns when the switch has answered, after pingWithin, or when ctx is done.
func (p *Pinger) post(ctx context.Context, signal, command, summary string) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	err = p.try(ctx, signal, fmt.Sprintf("ingest %s on %s: %s", command, term.Clean(host), summary))
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.failing = false
	case !p.failing && !errors.Is(ctx.Err(), context.Canceled): // not one that was given up
		p.failing = true
		p.Log.WarnContext(ctx, "the dead man's switch could not be reached", slog.String("error", p.withoutURL(err)))
	}
}

func (p *Pinger) try(ctx context.Context, signal, summary string) error {
	ctx, cancel := context.WithTimeout(ctx, pingWithin)
	defer cancel()
	u, err := url.Parse(p.url.Reveal())
	if err != nil {
		return err
	}
	query := u.Query()
	query.Set("rid", p.runID)
	u.RawQuery = query.Encode()
	if len(summary) > maxPingBytes {
		summary = strings.ToValidUTF8(summary[:maxPingBytes], "")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.JoinPath(signal).String(), strings.NewReader(summary))
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", "ingest/"+p.version)
	req.Header.Set("Content-Type", "text/plain; charset=utf-8")
	resp, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 1<<10) // so that the connection can be used again
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("it answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	return nil
}

// withoutURL is the error without the URL, which net/http puts around it, or any part of its path.
func (p *Pinger) withoutURL(err error) string {
	if around := (*url.Error)(nil); errors.As(err, &around) {
		err = around.Err
	}
	text := term.Clean(err.Error())
	_, path, _ := strings.Cut(p.url.Reveal(), "://")
	_, path, _ = strings.Cut(path, "/")
	for part := range strings.FieldsFuncSeq(path, func(r rune) bool { return strings.ContainsRune("/?&=", r) }) {
		if len(part) > 3 {
			text = strings.ReplaceAll(text, part, "***")
		}
	}
	return text
}

// uuid is a random one, version 4: RFC 9562, section 5.4.
func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// How long a ping may hold up the end of the program, within the five seconds of a stop.
const (
	lastPingWithin  = 2 * time.Second
	lastPingBy      = 4500 * time.Millisecond // after a signal
	startPingWithin = time.Second             // of lastPingWithin, for one that is still on its way
)

// BeginRun tells the switch that a run has begun, and returns how to tell it of the end: the exit status and a
// summary. Only end waits for the switch, for two seconds at most, and a switch that cannot be reached fails nothing.
// For a nil Pinger both do nothing.
func (p *Pinger) BeginRun(ctx context.Context) (end func(status int, summary string)) {
	if p == nil {
		return func(int, string) {}
	}
	signalled := make(chan time.Time, 1)
	forget := context.AfterFunc(ctx, func() { signalled <- time.Now() })
	starting, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	started := make(chan struct{})
	go func() {
		defer close(started)
		p.post(starting, "start", "run", "started\n")
	}()
	return func(status int, summary string) {
		forget()
		left := lastPingWithin
		select {
		case at := <-signalled:
			left = min(left, lastPingBy-time.Since(at))
		default:
		}
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), left)
		defer cancel()
		select {
		case <-started:
		case <-time.After(min(startPingWithin, left/2)):
		}
		giveUp() // the switch must hear of the end last
		<-started
		p.post(last, strconv.Itoa(status), "run", summary)
	}
}
