package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	cachedPath = "/youtube/v3/videos?part=id&id=always"
	uniquePath = "/youtube/v3/i18nRegions?part=snippet&hl=" // with a number behind it
)

// serial makes each call another one.
var serial atomic.Int64

// steady sends calls when they are due, whether or not the ones before have ended, and returns how long each took from
// then on.
func steady(ctx context.Context, base string, length time.Duration) (took []time.Duration, err error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var wait sync.WaitGroup
	start := time.Now()
	for i := range int(length.Seconds() * perSecond) {
		due := start.Add(time.Duration(i) * time.Second / perSecond)
		time.Sleep(time.Until(due))
		wait.Go(func() {
			e := one(ctx, client, fmt.Sprintf("%s%s%d", base, uniquePath, serial.Add(1)))
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(due))
			if e != nil {
				err = e
			}
		})
	}
	wait.Wait()
	return took, err
}

func one(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d, %w", resp.StatusCode, err)
	}
	return nil
}

// hammer asks over some connections, each waiting for its answer, and returns how many answers came in a second. All
// must have the status.
func hammer(ctx context.Context, address string, status int, length time.Duration) (rate float64, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return 0, err
	}
	var n atomic.Int64
	failed := make(chan error, connections)
	start := time.Now()
	for range connections {
		go func() {
			failed <- func() error {
				conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
				if err != nil {
					return err
				}
				defer func() { _ = conn.Close() }()
				in := bufio.NewReader(conn)
				for time.Since(start) < length {
					target := u.RequestURI()
					if strings.HasSuffix(target, "hl=") {
						target += fmt.Sprint(serial.Add(1))
					}
					if err := ask(conn, in, u.Host, target, status); err != nil {
						return err
					}
					n.Add(1)
				}
				return nil
			}()
		}()
	}
	for range connections {
		if e := <-failed; e != nil {
			err = e
		}
	}
	return float64(n.Load()) / time.Since(start).Seconds(), err
}

// ask sends one request and reads its answer; the first one for a cached answer fills the cache.
func ask(conn net.Conn, in *bufio.Reader, host, target string, status int) error {
	if _, err := io.WriteString(conn, "GET "+target+" HTTP/1.1\r\nHost: "+host+"\r\n\r\n"); err != nil {
		return err
	}
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != status {
		err = fmt.Errorf("status %d, want %d: %.200s", resp.StatusCode, status, body)
	}
	return err
}
