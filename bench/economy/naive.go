package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// naive is a cron line that starts a script every half hour. It fetches one region after the other and counts nothing.
// It retries a failed page retries times. In a world with a backfill, a second script fetches one page of a search
// every half hour.
func naive(retries int) worker {
	return func(ctx context.Context, w world, seed uint64, from, to time.Time) (result, error) {
		s := script{retries: retries}
		s.clock.set(from)
		up, err := newUpstream(w, seed, &s.clock)
		if err != nil {
			return result{}, err
		}
		defer up.server.Close()
		up.plan(w, seed, from, to)
		s.url, s.client = up.server.URL, up.server.Client()
		rec := newRecorder(w, s.clock.now, from, to)
		for tick := from; tick.Before(to); tick = tick.Add(w.every) {
			if ctx.Err() != nil {
				return result{}, context.Cause(ctx)
			}
			s.clock.reach(tick)
			up.catchUp()
			for _, region := range w.regions {
				if got := s.chart(ctx, string(region), w.pages); got == w.pages {
					rec.done(string(region), s.clock.now())
					rec.pages += int64(got)
				}
			}
			if w.backfill {
				if next, err := s.page(ctx, "search", s.found, url.Values{"part": {"snippet"}, "type": {"video"}, "q": {"music"}}); err == nil {
					s.found = next
				}
			}
		}
		return rec.result(up), context.Cause(ctx)
	}
}

// script is the cron job's script.
type script struct {
	clock   clock
	url     string
	client  *http.Client
	retries int
	found   string // the token of the search's next page
}

// chart fetches the pages of a chart, and returns how many it got.
func (s *script) chart(ctx context.Context, region string, pages int) (got int) {
	for token := ""; got < pages; got++ {
		next, err := s.page(ctx, "videos", token, url.Values{"part": {"id"}, "chart": {"mostPopular"}, "regionCode": {region}})
		if err != nil {
			return got
		}
		token = next
	}
	return got
}

// page fetches one page, and returns the token of the next one.
func (s *script) page(ctx context.Context, path, token string, q url.Values) (next string, err error) {
	q.Set("maxResults", "50")
	if token != "" {
		q.Set("pageToken", token)
	}
	for retry := 0; ; retry++ {
		next, err = s.get(ctx, path+"?"+q.Encode())
		if err == nil || retry == s.retries {
			return next, err
		}
		s.clock.pass(time.Second)
	}
}

func (s *script) get(ctx context.Context, path string) (next string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/youtube/v3/"+path, nil)
	if err != nil {
		return "", err
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the upstream answered %s", answer.Status)
	}
	var page struct{ NextPageToken string }
	err = json.NewDecoder(answer.Body).Decode(&page)
	return page.NextPageToken, err
}
