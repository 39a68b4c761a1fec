package redisledger_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/redisledger"
)

// A server that announces more than any reply has gets no memory and no time for it.
func TestAHostileReplyTakesLittleMemory(t *testing.T) {
	for name, reply := range map[string]string{
		"a map":              "%9999999999\r\n",
		"an array":           "*2147483647\r\n",
		"too many strings":   "*400000\r\n" + strings.Repeat("$10\r\n0123456789\r\n", 400_000),
		"a map that fits":    "%100000\r\n",
		"arrays of arrays":   strings.Repeat("*1000000\r\n", 50),
		"deep arrays":        strings.Repeat("*1\r\n", 5_000_000),
		"a string":           "$2000000000\r\n",
		"a negative string":  "$-5\r\n",
		"strings of strings": "*1000\r\n" + strings.Repeat("$30000000\r\n"+strings.Repeat("x", 1000), 3),
		"an attribute":       "|9999999999\r\n",
		"a push":             ">9999999999\r\n",
		"an endless error":   "-" + strings.Repeat("x", 100<<20),
		"an endless number":  ":" + strings.Repeat("1", 100<<20),
		"a blob of error":    "!9999999999\r\n",
		"nothing":            "\r\n\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			took, allocated := inspectReply(t, reply)
			if allocated > 200 {
				t.Errorf("%d MB were allocated, want at most 200", allocated)
			}
			if took > 3*time.Second { // on a machine that is busy a server without an answer takes as long
				if silent, _ := inspectReply(t, ""); took > 3*silent {
					t.Errorf("the answer took %v, and a server without an answer %v", took, silent)
				}
			}
		})
	}
}

// inspectReply returns how long a ledger takes to fail on a server's reply, and how many MB it allocates.
func inspectReply(t *testing.T, reply string) (took time.Duration, allocated uint64) {
	t.Helper()
	l, err := redisledger.Open(t.Context(), "redis://"+announcing(t, reply)+"/0",
		redisledger.Options{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	_, err = l.Inspect(t.Context())
	took = time.Since(began)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, quota.ErrUnavailable) {
		t.Errorf("the error is %v, want that the ledger is unavailable", err)
	}
	return took, (after.TotalAlloc - before.TotalAlloc) >> 20
}

// announcing returns the address of a server that answers each line of a client that begins a command with this.
func announcing(t *testing.T, reply string) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				lines := bufio.NewScanner(c)
				for lines.Scan() {
					if !strings.HasPrefix(lines.Text(), "*") {
						continue
					}
					if _, err := c.Write([]byte(reply)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}

// An error that repeats the password, whole or cut, is printed without it.
func TestAServerThatRepeatsThePasswordIsNotQuoted(t *testing.T) {
	for name, reply := range map[string]string{
		"a refusal":     "-ERR cannot AUTH hunter2hunter2\r\n",
		"another thing": "HTTP/1.1 400 \"AUTH hunter2hunter2\"\r\n",
		"a cut":         strings.Repeat("x", 84) + " hunter2hunter2\r\n",
	} {
		l, err := redisledger.Open(t.Context(), "redis://:hunter2hunter2@"+announcing(t, reply)+"/0", redisledger.Options{Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.Inspect(t.Context())
		if !errors.Is(err, quota.ErrUnavailable) || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "***") {
			t.Errorf("%s: the error is %v", name, err)
		}
		_ = l.Close()
	}
}
