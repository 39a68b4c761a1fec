package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/bench/report"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/httplimit"
	"github.com/trendvidstream/ingest/quota/redisledger"
)

// The load on each server: in turns, so that other work on the machine disturbs all alike.
const (
	connections = 16
	turns       = 5
	turnLasts   = 2 * time.Second
)

// door is a server, a process of its own, that limits its clients.
type door struct {
	name    string
	command func(dir string) (*exec.Cmd, error) // its first line of output is its address
}

// modules are the npm modules that express needs.
var modules = []string{"express@5.3.0", "express-rate-limit@8", "rate-limit-redis@4", "redis@5"}

func doors(redis string) []door {
	ours := func(ledger string) func(string) (*exec.Cmd, error) {
		return func(string) (*exec.Cmd, error) {
			self, err := os.Executable()
			return exec.Command(self, "-serve", ledger), err //nolint:gosec // itself
		}
	}
	express := func(redis string) func(string) (*exec.Cmd, error) {
		return func(string) (*exec.Cmd, error) {
			node, err := exec.LookPath("node")
			if err != nil {
				return nil, err
			}
			at, err := filepath.Abs("../.tools/express")
			if err != nil {
				return nil, err
			}
			if _, err := os.Stat(filepath.Join(at, "node_modules", "rate-limit-redis")); err != nil {
				npm := exec.Command("npm", append([]string{"install", "--prefix", at, "--no-audit", "--no-fund", "--ignore-scripts"}, modules...)...) //nolint:gosec // fixed
				if out, err := npm.CombinedOutput(); err != nil {
					return nil, fmt.Errorf("npm: %w: %s", err, bytes.TrimSpace(out))
				}
			}
			cmd := exec.Command(node, "httplimit/express.mjs")
			cmd.Env = append(os.Environ(), "MODULES="+at, "REDIS="+redis)
			return cmd, nil
		}
	}
	return []door{
		{"bare net/http", ours("none")}, {"httplimit, memory", ours("memory")}, {"httplimit, Redis", ours(redis)},
		{"express-rate-limit, memory", express("")}, {"express-rate-limit, Redis", express(redis)}, {"nginx limit_req", nginx},
	}
}

// nginx has one worker, as node has one thread.
func nginx(dir string) (*exec.Cmd, error) {
	path, err := exec.LookPath("nginx")
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	_ = l.Close()
	conf := "daemon off; worker_processes 1; pid " + dir + "/pid; error_log stderr crit; events {}\n" +
		"http { access_log off; keepalive_requests 1000000000; client_body_temp_path " + dir + "/a; proxy_temp_path " + dir + "/b; fastcgi_temp_path " + dir + "/c; uwsgi_temp_path " + dir + "/d; scgi_temp_path " + dir + "/e;\n" +
		"limit_req_zone $binary_remote_addr zone=clients:10m rate=1000000r/s;\n" +
		"server { listen " + addr + "; location / { limit_req zone=clients burst=1000000 nodelay; root " + dir + "; try_files /hello =404; } } }\n"
	for name, text := range map[string]string{"nginx.conf": conf, "hello": "hello\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil { //nolint:gosec // nginx reads it as another user
			return nil, err
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the same
		return nil, err
	}
	return exec.Command("sh", "-c", `echo "$1"; exec "$2" -p "$3" -c "$3/nginx.conf"`, "sh", addr, path, dir), nil //nolint:gosec // fixed
}

// serve is this program as a server: without limits, or with httplimit over a ledger.
func serve(ledger string) error {
	h := http.Handler(hello)
	if ledger != "none" {
		c := httplimit.Config{Limits: []httplimit.Limit{{Quota: unlimited, Window: time.Minute}}}
		if ledger != "memory" {
			var l quota.Ledger
			l, err := redisledger.Open(context.Background(), ledger, redisledger.Options{})
			if err != nil {
				return err
			}
			c.Ledger = l
		}
		limiter, err := httplimit.New(c)
		if err != nil {
			return err
		}
		h = limiter.Handler(h)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	return http.Serve(l, h) //nolint:gosec // for a bench
}

// overLoopback asks each server over kept-alive connections as fast as it answers.
func overLoopback(r *report.Report) error {
	redis, stop, err := startRedis()
	if err != nil {
		return err
	}
	defer stop()
	all := doors(redis)
	addrs, took, served := make([]string, len(all)), make([][]time.Duration, len(all)), make([]int, len(all))
	var absent []string
	for i, d := range all {
		dir, err := os.MkdirTemp("", "door")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		addr, stop, err := start(d, dir)
		if err != nil {
			fmt.Fprintf(os.Stderr, "httplimit: SKIPPED: %s: %v\n", d.name, err)
			absent = append(absent, d.name)
			continue
		}
		defer stop()
		addrs[i] = addr
	}
	for turn := range turns {
		for k := range all {
			i := (turn + k) % len(all)
			if addrs[i] == "" {
				continue
			}
			times, err := load(addrs[i])
			if err != nil {
				return fmt.Errorf("%s: %w", all[i].name, err)
			}
			took[i], served[i] = append(took[i], times...), served[i]+len(times)
		}
	}
	r.Section("Asks a second", fmt.Sprintf("Over %d connections that stay open, %d turns of %v each, client and server on this machine. Each server is a process: ours uses all cores, node and nginx one. nginx and express count approximately, in a fixed window or a leaky bucket.", connections, turns, turnLasts))
	var rows [][]string
	for i, d := range all {
		if addrs[i] == "" {
			rows = append(rows, []string{d.name, "not here", ""})
			continue
		}
		slices.Sort(took[i])
		rows = append(rows, []string{d.name, fmt.Sprintf("%.0f", float64(served[i])/(turns*turnLasts).Seconds()), fmt.Sprintf("%.2f", took[i][len(took[i])*99/100].Seconds()*1000)})
	}
	r.Table([]string{"", "asks a second", "p99, ms"}, rows)
	if len(absent) == 0 {
		r.Goal("asks a second with Redis, beside express-rate-limit", ">= 1 x", fmt.Sprintf("%.1f x", float64(served[2])/float64(served[4])), served[2] >= served[4])
	}
	return nil
}

// start starts a server and waits until it answers.
func start(d door, dir string) (addr string, stop func(), err error) {
	cmd, err := d.command(dir)
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = cmd.Process.Signal(os.Interrupt) // nginx ends its worker
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("it did not begin: %w", err)
	}
	addr = strings.TrimSpace(line)
	for range 500 {
		conn, dialed := net.Dial("tcp", addr)
		if err = dialed; err == nil {
			return addr, stop, conn.Close()
		}
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	return "", nil, err
}

// load returns how long each answer took.
func load(addr string) (all []time.Duration, failed error) {
	var mu sync.Mutex
	var clients sync.WaitGroup
	until := time.Now().Add(turnLasts)
	for range connections {
		clients.Go(func() {
			times, err := askUntil(addr, until)
			mu.Lock()
			defer mu.Unlock()
			if all = append(all, times...); err != nil {
				failed = err
			}
		})
	}
	clients.Wait()
	return all, failed
}

func askUntil(addr string, until time.Time) (times []time.Duration, err error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	for began := time.Now(); began.Before(until); began = time.Now() {
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			return nil, err
		}
		answer, err := http.ReadResponse(in, nil)
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("answered %s: %w", answer.Status, err)
		}
		times = append(times, time.Since(began))
	}
	return times, nil
}

// startRedis starts a redis-server that keeps nothing.
func startRedis() (url string, stop func(), err error) {
	path := os.Getenv("REDIS_SERVER")
	if path == "" {
		path = "redis-server"
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	redis := door{"Redis", func(dir string) (*exec.Cmd, error) {
		return exec.Command("sh", "-c", `echo "127.0.0.1:$1"; exec "$2" --port "$1" --bind 127.0.0.1 --dir "$3" --save "" --appendonly no >/dev/null`, "sh", port, path, dir), nil //nolint:gosec // fixed
	}}
	addr, stop, err := start(redis, os.TempDir())
	return "redis://" + addr, stop, err
}
