// Command httplimit compares quota/httplimit with middleware that people use: the cost of a request, the memory that a
// flood of addresses takes, and how many requests get through within one window. Times are CPU time, not wall time, so
// that other load on the machine matters little.
//
//	go run ./httplimit [-write]
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/trendvidstream/ingest/bench/report"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/memledger"
)

const (
	clients   = 10_000
	flooders  = 100_000
	batch     = 20_000 // requests
	batches   = 21     // per contender, in turns; the median counts
	unlimited = 1_000_000_000
)

func main() {
	write := flag.Bool("write", false, "also write the table to "+report.File)
	ledger := flag.String("serve", "", "only serve, limited over this ledger: none, memory or the URL of a Redis")
	flag.Parse()
	if *ledger != "" {
		fmt.Fprintln(os.Stderr, serve(*ledger))
		return
	}
	if err := measure(*write); err != nil {
		fmt.Fprintf(os.Stderr, "httplimit: %v\n", err)
		os.Exit(1)
	}
}

func measure(write bool) error {
	r := &report.Report{Title: "Limits per client", About: "`cd bench && go run ./httplimit -write`: quota/httplimit beside other middleware, in memory where no Redis is named. Times are of the processor: medians, in turns."}
	var versions []string
	for _, c := range contenders {
		if c.module != "" {
			versions = append(versions, c.name+" "+report.VersionOf(c.module))
		}
	}
	r.Machine(versions...)
	for _, part := range []func(*report.Report) error{speed, overTCP, overLoopback, flood, exactness} {
		if err := part(r); err != nil {
			return err
		}
	}
	fmt.Print(r.Markdown())
	if write {
		return r.Write(report.File)
	}
	return nil
}

// cpu returns the CPU time that the process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // of this process
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

func micros(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d.Nanoseconds())/1000) }

// hello answers as cheaply as a handler can.
var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello\n")) })

// nowhere is a response writer that discards the response.
type nowhere struct {
	header http.Header
	status int
}

func (w *nowhere) Header() http.Header         { return w.header }
func (w *nowhere) WriteHeader(status int)      { w.status = status }
func (w *nowhere) Write(b []byte) (int, error) { return len(b), nil }

func requests(n int) []*http.Request {
	out := make([]*http.Request, n)
	for i := range out {
		out[i] = httptest.NewRequest(http.MethodGet, "/", nil)
		out[i].RemoteAddr = fmt.Sprintf("10.%d.%d.%d:80", i>>16, i>>8&255, i&255)
	}
	return out
}

// speed measures a request from one of many clients, without a connection, and the ledger's decision alone.
func speed(r *report.Report) (err error) {
	handlers := make([]http.Handler, len(contenders))
	for i, c := range contenders {
		if handlers[i], err = c.wrap(unlimited, time.Minute, hello); err != nil {
			return err
		}
	}
	took := make([][]time.Duration, len(contenders))
	var decisions []time.Duration
	ledger := &memledger.Ledger{}
	asked := requests(clients)
	w := &nowhere{header: http.Header{}}
	for turn := range batches + 1 {
		for k := range handlers {
			i := (turn + k) % len(handlers)
			h := handlers[i]
			began := cpu()
			for n := range batch {
				h.ServeHTTP(w, asked[n%clients])
			}
			if turn > 0 { // the first turn creates the clients
				took[i] = append(took[i], (cpu()-began)/batch)
			}
			clear(w.header)
		}
		d, err := decide(ledger)
		if err != nil {
			return err
		}
		if turn > 0 {
			decisions = append(decisions, d)
		}
	}
	r.Section("The cost of a request", fmt.Sprintf("Of %d clients, one window, without a connection; the decision is `Ledger.Take` of memledger under two windows.", clients))
	rows := [][]string{{"memledger, the decision alone", micros(median(decisions))}}
	for i, c := range contenders {
		rows = append(rows, []string{c.name, micros(median(took[i]))})
	}
	r.Table([]string{"", "us of the processor"}, rows)
	r.Goal("a decision in memory, "+strconv.Itoa(clients)+" clients", "< 2 us", micros(median(decisions))+" us", median(decisions) < 2*time.Microsecond)
	return nil
}

// decide times one batch of decisions under windows of 1 min and 1 h.
func decide(l *memledger.Ledger) (time.Duration, error) {
	charges := []quota.Charge{{Pool: "requests", Amount: 1, Bounds: []quota.Bound{
		{Window: quota.Window{Name: "1m", Length: time.Minute, Limit: unlimited}, Ceiling: unlimited},
		{Window: quota.Window{Name: "1h", Length: time.Hour, Limit: unlimited}, Ceiling: unlimited},
	}}}
	names := make([]string, clients)
	for i := range names {
		names[i] = fmt.Sprintf("http.ip-%08x", i)
	}
	began := cpu()
	for n := range batch {
		a := quota.Ask{Account: names[n%clients], Who: quota.Who{Purpose: quota.Manual, Method: "http"}, Charges: charges, Horizon: time.Hour, Precision: time.Second}
		if _, err := l.Take(context.Background(), a); err != nil {
			return 0, err
		}
	}
	return (cpu() - began) / batch, nil
}

// overTCP measures a request over a kept-alive connection, its client included.
func overTCP(r *report.Report) error {
	const perBatch = 4_000
	took := make([][]time.Duration, len(contenders))
	var connections []*bufio.ReadWriter
	for _, c := range contenders {
		h, err := c.wrap(unlimited, time.Minute, hello)
		if err != nil {
			return err
		}
		server := httptest.NewServer(h)
		defer server.Close()
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		connections = append(connections, bufio.NewReadWriter(bufio.NewReader(conn), bufio.NewWriter(conn)))
	}
	for turn := range batches {
		for k := range connections { // each goes first equally often: the first of a turn pays for what came before
			i := (turn + k) % len(connections)
			conn := connections[i]
			began := cpu()
			for range perBatch {
				if err := roundTrip(conn); err != nil {
					return fmt.Errorf("%s: %w", contenders[i].name, err)
				}
			}
			took[i] = append(took[i], (cpu()-began)/perBatch)
		}
	}
	r.Section("Over a connection", "One that stays open, to a `net/http` server in the same process; a client that does no more than write and read.")
	bare := median(took[0])
	var rows [][]string
	for i, c := range contenders {
		t := median(took[i])
		rows = append(rows, []string{c.name, micros(t), fmt.Sprintf("%.1f %%", 100*float64(t-bare)/float64(bare))})
	}
	r.Table([]string{"", "us of the processor", "more than bare"}, rows)
	share := float64(median(took[1])-bare) / float64(bare)
	r.Goal("httplimit's own part of a request to a bare handler", "< 15 %", fmt.Sprintf("%.1f %%", 100*share), share < 0.15)
	return nil
}

// roundTrip sends a request and reads the answer.
func roundTrip(conn *bufio.ReadWriter) error {
	if _, err := conn.WriteString("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		return err
	}
	if err := conn.Flush(); err != nil {
		return err
	}
	for first := true; ; first = false {
		line, err := conn.ReadString('\n')
		if err != nil {
			return err
		}
		if first && !strings.HasPrefix(line, "HTTP/1.1 200") {
			return fmt.Errorf("answered %q", line)
		}
		if line == "\r\n" {
			break
		}
	}
	_, err := conn.Discard(len("hello\n"))
	return err
}

// held returns how much memory is in use, in bytes.
func held() int64 {
	for range 3 { // memory that a finalizer releases is freed by the next collection
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// flood sends one request from each of many addresses.
func flood(r *report.Report) error {
	r.Section("A flood", fmt.Sprintf("One request of each of %d addresses, and of five times as many.", flooders))
	var rows [][]string
	w := &nowhere{header: http.Header{}}
	for _, c := range contenders[1:] {
		h, err := c.wrap(60, time.Minute, hello)
		if err != nil {
			return err
		}
		before := held()
		var mb []string
		sent := 0
		for _, until := range []int{flooders, 5 * flooders} {
			req := requests(1)[0]
			for ; sent < until; sent++ {
				req.RemoteAddr = fmt.Sprintf("%d.%d.%d.%d:80", 20+sent>>24, sent>>16&255, sent>>8&255, sent&255)
				h.ServeHTTP(w, req)
			}
			bytes := held() - before
			mb = append(mb, fmt.Sprintf("%.1f", float64(bytes)/1e6))
			if c.name == contenders[1].name {
				r.Goal(fmt.Sprintf("memory for %d addresses", until), "< 50 MB", mb[len(mb)-1]+" MB", bytes < 50e6)
			}
		}
		runtime.KeepAlive(h)
		rows = append(rows, append([]string{c.name}, mb...))
	}
	r.Table([]string{"", "MB after 100,000", "MB after 500,000"}, rows)
	return nil
}

// exactness lets one client ask for far more than its limit, and counts the requests that get through within any
// window.
func exactness(r *report.Report) error {
	const limit, window, lasts = 100, 2 * time.Second, 9 * time.Second
	r.Section("Within one window", fmt.Sprintf("A limit of %d within %v. The client is idle for 1.9 s of each 2.1 s and asks as fast as it can for the rest, for %v; counted is the most that was admitted within any %v.", limit, window, lasts, window))
	var rows [][]string
	for _, c := range contenders[1:] {
		h, err := c.wrap(limit, window, hello)
		if err != nil {
			return err
		}
		req := requests(1)[0]
		var admitted []time.Time
		for began := time.Now(); time.Since(began) < lasts; {
			if time.Since(began)%(2100*time.Millisecond) < 1900*time.Millisecond {
				time.Sleep(5 * time.Millisecond)
				continue
			}
			at := time.Now() // before the decision, so that the time between two is never underestimated
			w := &nowhere{header: http.Header{}, status: http.StatusOK}
			if h.ServeHTTP(w, req); w.status == http.StatusOK {
				admitted = append(admitted, at)
			}
		}
		most := mostWithin(admitted, window)
		rows = append(rows, []string{c.name, strconv.Itoa(most), strconv.Itoa(len(admitted))})
		if c.name == contenders[1].name {
			r.Goal("admitted within one window, of "+strconv.Itoa(limit), "<= "+strconv.Itoa(limit), strconv.Itoa(most), most <= limit)
		}
	}
	r.Table([]string{"", "most within 2 s", "in all"}, rows)
	return nil
}

func mostWithin(times []time.Time, window time.Duration) (most int) {
	from := 0
	for i, at := range times {
		for at.Sub(times[from]) >= window {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}
