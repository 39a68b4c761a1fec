package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// naive is a cron line that starts a script every half hour: it fetches one region after the other and counts
// nothing. It asks so many more times for a page that did not come.
func naive(retries int) worker {
	return func(ctx context.Context, w world, seed uint64, from, to time.Time) (result, error) {
		s := script{retries: retries}
		s.clock.set(from)
		up, err := newUpstream(w, seed, &s.clock)
		if err != nil {
			return result{}, err
		}
		defer up.server.Close()
		s.url, s.client = up.server.URL, up.server.Client()
		j := newJudge(from, to, regionNames)
		for tick := from; tick.Before(to); tick = tick.Add(every) {
			s.clock.reach(tick)
			for _, region := range regionNames {
				if got := s.chart(ctx, region); got == pages {
					j.done(region, s.clock.now(), got)
				}
			}
		}
		return j.verdict(up.sim), nil
	}
}

// script is the cron job's script.
type script struct {
	clock   clock
	url     string
	client  *http.Client
	retries int
}

// chart fetches the pages of a chart, and returns how many came.
func (s *script) chart(ctx context.Context, region string) (got int) {
	for token := ""; got < pages; got++ {
		next, err := s.page(ctx, region, token)
		for retry := 0; err != nil && retry < s.retries; retry++ {
			s.clock.pass(time.Second)
			next, err = s.page(ctx, region, token)
		}
		if err != nil {
			return got
		}
		token = next
	}
	return got
}

// page fetches one page, and returns the token of the next one.
func (s *script) page(ctx context.Context, region, token string) (next string, err error) {
	q := url.Values{"part": {"id"}, "chart": {"mostPopular"}, "regionCode": {region}, "maxResults": {"50"}}
	if token != "" {
		q.Set("pageToken", token)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/youtube/v3/videos?"+q.Encode(), nil)
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
