//go:build unix

// Package faulty is for tests: a proxy between a program and its Redis or PostgreSQL that loses, delays and refuses
// like a network, and servers that are frozen, killed, filled and restarted like machines. It imports nothing of the
// program.
package faulty

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Proxy forwards connections to a Redis or a PostgreSQL. Until a fault is requested, it changes nothing. It is safe for
// concurrent use.
//
// It loses the replies to scripts: the commands of Redis, or for PostgreSQL the statements named to NewPostgresProxy.
type Proxy struct {
	addr     string
	language func() language // of a new connection

	mu       sync.Mutex
	target   string
	listener net.Listener // nil: connections are refused
	ended    bool
	hold     chan struct{} // closed to release held traffic; nil: none is held
	delay    time.Duration // of every reply
	lag      time.Duration // of the stream to replicas
	keep     int           // how many more replies to scripts are let through
	lose     int           // how many replies are lost after those
	how      Loss
	watch    func(Moment)
	pairs    map[*pair]bool

	scripts atomic.Int64
	lost    atomic.Int64
	work    sync.WaitGroup
}

// Loss is how a reply is lost after the server has executed the command.
type Loss int

// The ways to lose a reply.
const (
	Closed    Loss = iota // the connection is closed instead
	Swallowed             // nothing comes, and the connection stays open
	Torn                  // half of it comes, then a reset
)

// Moment is how far a script has come.
type Moment int

// The moments of a script.
const (
	Asked    Moment = iota // it is about to be forwarded
	Executed               // its reply, unless that is NOSCRIPT, is about to be forwarded
)

// NewProxy listens on a free port for a Redis. The proxy must be closed.
func NewProxy(target string) (*Proxy, error) {
	return newProxy(target, func() language { return redis{} })
}

// NewPostgresProxy is NewProxy for a PostgreSQL without encryption or passwords. Its scripts are the statements that
// contain one of the words, in either case.
func NewPostgresProxy(target string, words ...string) (*Proxy, error) {
	return newProxy(target, func() language { return &postgres{words: words, prepared: map[string]bool{}} })
}

func newProxy(target string, speaks func() language) (*Proxy, error) {
	p := &Proxy{target: target, addr: "127.0.0.1:0", language: speaks}
	if err := p.listen(); err != nil {
		return nil, err
	}
	return p, nil
}

// Before is NewProxy for a test; the proxy ends with it.
func Before(t T, target string) *Proxy {
	t.Helper()
	return ended(t)(NewProxy(target))
}

// BeforePostgres is NewPostgresProxy for a test; the proxy ends with it.
func BeforePostgres(t T, target string, words ...string) *Proxy {
	t.Helper()
	return ended(t)(NewPostgresProxy(target, words...))
}

func ended(t T) func(*Proxy, error) *Proxy {
	return func(p *Proxy, err error) *Proxy {
		t.Helper()
		if err != nil {
			t.Fatalf("%v", err)
		}
		t.Cleanup(p.Close)
		return p
	}
}

// Addr is the address that it listens on.
func (p *Proxy) Addr() string { return p.addr }

// Followed returns the setting that makes a replica follow the PostgreSQL behind the proxy.
func (p *Proxy) Followed() string {
	host, port, _ := net.SplitHostPort(p.addr)
	return "primary_conninfo=host=" + host + " port=" + port + " user=admin sslmode=disable"
}

// Scripts returns how many scripts were forwarded.
func (p *Proxy) Scripts() int64 { return p.scripts.Load() }

// Lost returns how many replies were lost.
func (p *Proxy) Lost() int64 { return p.lost.Load() }

// Pass ends every fault, and releases held replies.
func (p *Proxy) Pass() error {
	p.mu.Lock()
	p.delay, p.keep, p.lose = 0, 0, 0
	if p.hold != nil {
		close(p.hold)
		p.hold = nil
	}
	p.mu.Unlock()
	return p.listen()
}

// Refuse ends all connections and accepts no new ones.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	listener := p.listener
	p.listener = nil
	p.mu.Unlock()
	if listener != nil {
		_ = listener.Close()
	}
	p.Cut()
}

// Cut ends all connections and loses the data in transit.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.pairs {
		c.end(true)
	}
}

// Hang accepts connections but forwards nothing, in either direction, until Pass.
func (p *Proxy) Hang() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hold == nil {
		p.hold = make(chan struct{})
	}
}

// Delay delays every reply by d.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Lag delays everything sent to replicas by d. Data that is still delayed when the connection ends is lost.
func (p *Proxy) Lag(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lag = d
}

// Lose loses the replies to the next n scripts that are executed.
func (p *Proxy) Lose(n int, how Loss) { p.LoseAfter(0, n, how) }

// LoseAfter lets keep replies to scripts through and then loses n.
func (p *Proxy) LoseAfter(keep, n int, how Loss) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep, p.lose, p.how = keep, n, how
}

// Watch calls f at every moment of every script, which waits for f; nil ends that.
func (p *Proxy) Watch(f func(Moment)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watch = f
}

// Lead ends all connections and connects new ones to another server.
func (p *Proxy) Lead(target string) {
	p.mu.Lock()
	p.target = target
	p.mu.Unlock()
	p.Cut()
}

// Flap refuses and passes alternately, each for d, refusing first. stop ends that and leaves the proxy passing.
func (p *Proxy) Flap(d time.Duration) (stop func() error) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for refuse := true; ; refuse = !refuse {
			if refuse {
				p.Refuse()
			} else if p.Pass() != nil {
				return // another process has taken the port: stop returns the error
			}
			select {
			case <-time.After(d):
			case <-done:
				return
			}
		}
	}()
	return func() error {
		close(done)
		<-ended
		return p.Pass()
	}
}

// Close closes the proxy and waits for its goroutines.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.ended = true
	if p.hold != nil {
		close(p.hold)
		p.hold = nil
	}
	p.mu.Unlock()
	p.Refuse()
	p.work.Wait()
}

// listen accepts connections, always on the same port.
func (p *Proxy) listen() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil || p.ended {
		return nil
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", p.addr)
	if err != nil {
		return fmt.Errorf("faulty: proxy of %s: %w", p.target, err)
	}
	p.listener = l
	if p.pairs == nil { // the first time: the port stays the same
		p.addr, p.pairs = l.Addr().String(), map[*pair]bool{}
	}
	p.work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.work.Go(func() { p.serve(c) })
		}
	})
	return nil
}
