package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	cachedPath = "/youtube/v3/videos?part=id&id=always&key=tool0"
	uniquePath = "/youtube/v3/i18nRegions?part=snippet&key=tool%d&hl=%d" // by one of the tools
)

// serial makes each call unique.
var serial atomic.Int64

// unique returns a path that no other call has.
func unique(tool int) string { return fmt.Sprintf(uniquePath, tool, serial.Add(1)) }

// steady sends calls when they are due, even if earlier ones have not ended. It returns how long each took from then
// on, and how many were not served.
func steady(ctx context.Context, call func(context.Context) error, length time.Duration) (took []time.Duration, unserved int) {
	var mu sync.Mutex
	var wait sync.WaitGroup
	start := time.Now()
	for i := range int(length.Seconds() * perSecond) {
		due := start.Add(time.Duration(i) * time.Second / perSecond)
		time.Sleep(time.Until(due))
		wait.Go(func() {
			e := call(ctx)
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(due))
			if e != nil {
				unserved++
			}
		})
	}
	wait.Wait()
	return took, unserved
}

// get calls through a proxy, each tool in its turn.
func get(base string) func(context.Context) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 10 * time.Second}
	var turn atomic.Int64
	return func(ctx context.Context) error { return one(ctx, client, base+unique(int(turn.Add(1))%tools)) }
}

// syncing writes the bytes of SQLite's log for one take, and waits for the disk.
func syncing(dir string) func(context.Context) error {
	var turn sync.Mutex
	f, err := os.CreateTemp(dir, "gateway")
	if err == nil {
		err = os.Remove(f.Name())
	}
	at, pages := int64(0), make([]byte, 2*(4096+24))
	return func(context.Context) error {
		turn.Lock()
		defer turn.Unlock()
		if err != nil {
			return err
		}
		at = (at + int64(len(pages))) % (4 << 20)
		if _, err := f.WriteAt(pages, at); err != nil {
			return err
		}
		return f.Sync()
	}
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
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// hammer asks over some connections, each waiting for its answer. It returns how many answers came per second, and the
// processor time for each, including the client's time. All must have the status and contain says.
func hammer(ctx context.Context, base string, path func() string, status int, says string, length time.Duration) (rate float64, used time.Duration, err error) {
	u, err := url.Parse(base)
	if err != nil {
		return 0, 0, err
	}
	var n atomic.Int64
	failed := make(chan error, connections)
	start, busy := time.Now(), cpu()
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
					if err := ask(conn, in, u.Host, path(), status, says); err != nil {
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
	answers := max(n.Load(), 1)
	return float64(answers) / time.Since(start).Seconds(), (cpu() - busy) / time.Duration(answers), err
}

// cpu returns the processor time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // of this process
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// ask sends one request and reads its answer.
func ask(conn net.Conn, in *bufio.Reader, host, target string, status int, says string) error {
	if _, err := io.WriteString(conn, "GET "+target+" HTTP/1.1\r\nHost: "+host+"\r\n\r\n"); err != nil {
		return err
	}
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != status || !bytes.Contains(body, []byte(says))) {
		err = fmt.Errorf("status %d, want %d: %.200s", resp.StatusCode, status, body)
	}
	return err
}
