package redisledger_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/redisledger"
)

// Each answer of a server that is set up or reached in another way has its own cure, and spends nothing.
func TestEachCauseHasItsOwnCure(t *testing.T) {
	for answer, cure := range map[string]string{
		"MOVED 3999 10.0.0.1:6381":                                                 "redis+cluster://",
		"CLUSTERDOWN Hash slot not served":                                         "cluster info",
		"OOM command not allowed when used memory > 'maxmemory'.":                  "maxmemory",
		"READONLY You can't write against a read only replica.":                    "master",
		"NOREPLICAS Not enough good replicas to write.":                            "min-replicas-to-write",
		"LOADING Redis is loading the dataset in memory":                           "answers when it has",
		"MISCONF Redis is configured to save RDB snapshots":                        "disk",
		"BUSY Redis is busy running a script.":                                     "SCRIPT KILL",
		"NOAUTH Authentication required.":                                          "URL",
		"WRONGPASS invalid username-password pair or user is disabled.":            "URL",
		"NOPERM User ingest has no permissions to run the 'script|exists' command": "ACL SETUSER",
		"ERR DB index is out of range":                                             "/0",
		"ERR max number of clients reached":                                        "maxclients",
		"ERR unknown command 'EVALSHA', with args beginning with: 'x'":             "rename-command",
	} {
		l, err := redisledger.Open(t.Context(), "redis://"+answering(t, answer), redisledger.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.State(t.Context(), "default", nil)
		known, ok := errors.AsType[*quota.ServerError](err)
		if !ok || !strings.Contains(known.Cure, cure) || strings.Contains(err.Error(), ".:") || !errors.Is(err, quota.ErrUnavailable) ||
			errors.Is(err, quota.ErrInDoubt) {
			t.Errorf("%s: %v, want a cure with %q, no full stop before it, and no doubt", answer, err, cure)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	l, err := redisledger.Open(t.Context(), "rediss://"+answering(t, "ERR"), redisledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, err = l.State(t.Context(), "default", nil)
	if known, ok := errors.AsType[*quota.ServerError](err); !ok || !strings.Contains(known.Cure, "redis://") || errors.Is(err, quota.ErrInDoubt) {
		t.Errorf("TLS against plain: %v", err)
	}
}

// answering serves an address that gives every command the same error.
func answering(t *testing.T, answer string) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				for lines := bufio.NewScanner(c); lines.Scan(); {
					if !strings.HasPrefix(lines.Text(), "*") && lines.Text() != "" && lines.Text()[0] > 31 && lines.Text()[0] < 127 {
						continue
					}
					if _, err := fmt.Fprintf(c, "-%s\r\n", answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// A server 400 ms away is used as one that is near, also with TLS. Its output is the table of docs/hosts.md.
func TestLongAServerFarAwayIsUsed(t *testing.T) { farAway(t, 400*time.Millisecond) }

func TestAServerFarAwayIsUsed(t *testing.T) { farAway(t, 200*time.Millisecond) }

func farAway(t *testing.T, away time.Duration) {
	t.Helper()
	cert, key, trust := certificate(t)
	port := faulty.FreePort(t)
	s := redisServer(t, "--tls-port", fmt.Sprint(port), "--tls-cert-file", cert, "--tls-key-file", key, "--tls-auth-clients", "no")
	for scheme, port := range map[string]int{"redis": s.port, "rediss": port} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			l := openLedger(t, scheme+"://"+faulty.Far(t, fmt.Sprintf("127.0.0.1:%d", port), away), redisledger.Options{TLS: &tls.Config{RootCAs: trust, MinVersion: tls.VersionTLS12}})
			for _, what := range []string{"the first take", "the next"} {
				began := time.Now()
				if _, err := l.Take(t.Context(), benchAsk(scheme, 1, 10, "units")); err != nil {
					t.Errorf("%s, after %v: %v", what, time.Since(began), err)
				}
				t.Logf("%s took %v, %.1f round trips", what, time.Since(began), time.Since(began).Seconds()/away.Seconds())
			}
		})
	}
}

// A server that ends the handshake of TLS, or never answers it, was asked nothing.
func TestAFailedHandshakeIsNoDoubt(t *testing.T) {
	for name, serve := range map[string]func(net.Conn){
		"closed":  func(c net.Conn) { _ = c.Close() },
		"unheard": func(net.Conn) {},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
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
					defer func() { _ = c.Close() }()
					serve(c)
				}
			}()
			l, err := redisledger.Open(t.Context(), "rediss://"+listener.Addr().String(), redisledger.Options{Timeout: 100 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = l.Close() }()
			if _, err = l.State(t.Context(), "default", nil); !errors.Is(err, quota.ErrUnavailable) || errors.Is(err, quota.ErrInDoubt) {
				t.Errorf("got %v, want unavailable, and no doubt", err)
			}
		})
	}
}
