package web_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/httplimit"
)

// BenchmarkAPI serves a cached answer over kept-alive connections, with limits on.
func BenchmarkAPI(b *testing.B) {
	site, _ := newAPI(b, httplimit.Limit{Quota: quota.MaxLimit, Window: time.Minute}, httplimit.Limit{Quota: quota.MaxLimit, Window: time.Hour})
	server := httptest.NewServer(site.Handler())
	defer server.Close()
	const clients = 4
	b.ResetTimer()
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			if err := askOften(b.Context(), server.Listener.Addr().String(), b.N/clients+1, c); err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

// askOften searches for one of a hundred words, one after the other.
func askOften(ctx context.Context, address string, times, of int) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	for i := range times {
		if _, err := fmt.Fprintf(conn, "GET /v1/search?q=word%d HTTP/1.1\r\nHost: localhost\r\n\r\n", (i+of)%100); err != nil {
			return err
		}
		length := 0
		for first := true; ; first = false {
			line, err := in.ReadString('\n')
			if err != nil {
				return err
			}
			if first && !strings.Contains(line, " 200 ") {
				return fmt.Errorf("answered %q", line)
			}
			if text, ok := strings.CutPrefix(line, "Content-Length: "); ok {
				if length, err = strconv.Atoi(strings.TrimSpace(text)); err != nil {
					return err
				}
			}
			if line == "\r\n" {
				break
			}
		}
		if _, err := in.Discard(length); err != nil {
			return err
		}
	}
	return nil
}
