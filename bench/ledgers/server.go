package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// server is a redis-server started for this run, without persistence.
type server struct {
	addr   string
	client *redis.Client
	stop   func()
}

func (s *server) url() string { return "redis://" + s.addr }

func startServer(ctx context.Context) (*server, error) {
	path := os.Getenv("REDIS_SERVER")
	if path == "" {
		var err error
		if path, err = exec.LookPath("redis-server"); err != nil {
			return nil, fmt.Errorf("no redis-server: install version 7 or newer, or set REDIS_SERVER: %w", err)
		}
	}
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "ledgers")
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no") //nolint:noctx // stop ends it
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start redis-server: %w", err), os.RemoveAll(dir))
	}
	s := &server{addr: addr, client: redis.NewClient(&redis.Options{Addr: addr, Protocol: 2, DisableIdentity: true})}
	s.stop = func() {
		_ = s.client.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	}
	for range 500 {
		if err = s.client.Ping(ctx).Err(); err == nil {
			return s, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.stop()
	return nil, fmt.Errorf("redis-server does not answer: %w", err)
}

func freeAddr(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// stat is one command's line of INFO commandstats.
type stat struct{ calls, usec float64 }

// stats returns the server's own times by command since the last CONFIG RESETSTAT.
func (s *server) stats(ctx context.Context) (map[string]stat, error) {
	info, err := s.client.Info(ctx, "commandstats").Result()
	if err != nil {
		return nil, err
	}
	all := map[string]stat{}
	for line := range strings.SplitSeq(info, "\r\n") {
		name, fields, ok := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":")
		if !ok {
			continue
		}
		var st stat
		for f := range strings.SplitSeq(fields, ",") {
			k, v, _ := strings.Cut(f, "=")
			n, err := strconv.ParseFloat(v, 64)
			if err != nil {
				return nil, fmt.Errorf("commandstats: %q: %w", line, err)
			}
			switch k {
			case "calls":
				st.calls = n
			case "usec":
				st.usec = n
			}
		}
		all[name] = st
	}
	return all, nil
}

// info returns one field of INFO.
func (s *server) info(ctx context.Context, section, field string) (string, error) {
	text, err := s.client.Info(ctx, section).Result()
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(text, field+":")
	value, _, _ := strings.Cut(rest, "\r\n")
	return value, nil
}

// size returns the size of all keys, in bytes.
func (s *server) size(ctx context.Context) (int64, error) {
	all, err := s.client.Keys(ctx, "*").Result()
	if err != nil {
		return 0, err
	}
	bytes := int64(0)
	for _, k := range all {
		n, err := s.client.MemoryUsage(ctx, k, 0).Result() // 0: sample all elements
		if err != nil {
			return 0, err
		}
		bytes += n
	}
	return bytes, nil
}

// snapshot is the server's contents, to be restored before each batch.
type snapshot []kept

type kept struct {
	key, value string
	ttl        time.Duration
}

func (s *server) snapshot(ctx context.Context) (snapshot, error) {
	all, err := s.client.Keys(ctx, "*").Result()
	if err != nil {
		return nil, err
	}
	out := make(snapshot, len(all))
	for i, k := range all {
		dump, err := s.client.Dump(ctx, k).Result()
		if err != nil {
			return nil, err
		}
		ttl, err := s.client.PTTL(ctx, k).Result()
		if err != nil {
			return nil, err
		}
		out[i] = kept{k, dump, max(ttl, 0)}
	}
	return out, nil
}

func (s *server) restore(ctx context.Context, from snapshot) error {
	if err := flush(ctx, s.client); err != nil {
		return err
	}
	for _, k := range from {
		if err := s.client.Restore(ctx, k.key, k.ttl, k.value).Err(); err != nil {
			return err
		}
	}
	return nil
}
