//go:build unix

// Package faulty is for tests: a proxy that stands between a program and its Redis and does to their
// talk what networks do, and Redis servers and sentinels that are stopped, killed and brought back as
// machines are. It imports nothing of the program.
package faulty

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Proxy passes connections on to a Redis. It begins as if it were not there. Safe for concurrent use.
type Proxy struct {
	addr string

	mu       sync.Mutex
	target   string
	listener net.Listener // nil: refused
	ended    bool
	hold     chan struct{} // closed when what is held may go on; nil: nothing is held
	delay    time.Duration // of every reply
	lag      time.Duration // of what replicas are told
	keep     int           // so many replies to scripts come through, before
	lose     int           // so many are lost
	how      Loss
	watch    func(Moment)
	pairs    map[*pair]bool

	scripts atomic.Int64
	lost    atomic.Int64
	work    sync.WaitGroup
}

// Loss is how a reply is lost, after the server has carried out what was asked.
type Loss int

// The ways to lose a reply.
const (
	Closed    Loss = iota // the connection is closed instead
	Swallowed             // nothing comes, and the connection stays
	Torn                  // half of it comes, then a reset
)

// Moment is where a script is on its way.
type Moment int

// The moments of a script.
const (
	Asked    Moment = iota // about to be passed on
	Executed               // its reply, other than that it is not known, about to be passed back
)

// NewProxy listens on a port of its own. It must be closed.
func NewProxy(target string) (*Proxy, error) {
	p := &Proxy{target: target, addr: "127.0.0.1:0"}
	if err := p.listen(); err != nil {
		return nil, err
	}
	return p, nil
}

// Addr is where to connect to.
func (p *Proxy) Addr() string { return p.addr }

// Scripts is how many scripts were passed on so far.
func (p *Proxy) Scripts() int64 { return p.scripts.Load() }

// Lost is how many replies were lost so far.
func (p *Proxy) Lost() int64 { return p.lost.Load() }

// Pass ends every fault, and passes on what is held.
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

// Refuse ends all connections and takes no new ones.
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

// Cut ends all connections; what is on its way is gone.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.pairs {
		c.end(true)
	}
}

// Hang takes connections and passes nothing on, in either direction, until Pass.
func (p *Proxy) Hang() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hold == nil {
		p.hold = make(chan struct{})
	}
}

// Delay lets every reply come so much later.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Lag lets replicas learn everything so much later; what they have not learned when the connection
// ends they never do.
func (p *Proxy) Lag(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lag = d
}

// Lose loses the next n replies to scripts that were carried out.
func (p *Proxy) Lose(n int, how Loss) { p.LoseAfter(0, n, how) }

// LoseAfter lets so many replies to scripts through and then loses n.
func (p *Proxy) LoseAfter(keep, n int, how Loss) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep, p.lose, p.how = keep, n, how
}

// Watch calls f at every moment of a script, which waits for it; nil ends that.
func (p *Proxy) Watch(f func(Moment)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watch = f
}

// Lead ends all connections and leads new ones to another server.
func (p *Proxy) Lead(target string) {
	p.mu.Lock()
	p.target = target
	p.mu.Unlock()
	p.Cut()
}

// Flap refuses and passes in turn, each for d, beginning with a refusal, until stop, which leaves it
// passing.
func (p *Proxy) Flap(d time.Duration) (stop func() error) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for refuse := true; ; refuse = !refuse {
			if refuse {
				p.Refuse()
			} else if p.Pass() != nil {
				return // the port went to somebody else: stop says so
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

// Close ends it, and waits until nothing of it is left.
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

// listen takes connections, on the same port as before.
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
	if p.pairs == nil { // the first time: the port stays
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

// pair is one connection and its other half.
type pair struct {
	client, server net.Conn
	gone           chan struct{}
	once           sync.Once
	replica        atomic.Bool // it is told what the server does, byte for byte

	mu      sync.Mutex
	pending []string // commands without a reply yet
}

// end closes both halves; reset: without a word.
func (c *pair) end(reset bool) {
	c.once.Do(func() {
		if t, ok := c.client.(*net.TCPConn); ok && reset {
			_ = t.SetLinger(0)
		}
		_, _ = c.client.Close(), c.server.Close()
		close(c.gone)
	})
}

func (p *Proxy) serve(client net.Conn) {
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", target)
	if err != nil { // nobody is there: refused, as well as a proxy can
		if t, ok := client.(*net.TCPConn); ok {
			_ = t.SetLinger(0)
		}
		_ = client.Close()
		return
	}
	c := &pair{client: client, server: server, gone: make(chan struct{})}
	p.mu.Lock()
	refused := p.listener == nil
	if !refused {
		p.pairs[c] = true
	}
	p.mu.Unlock()
	if refused {
		c.end(true)
		return
	}
	var replies sync.WaitGroup
	replies.Go(func() {
		defer c.end(false)
		p.replies(c)
	})
	p.requests(c)
	c.end(false)
	replies.Wait()
	p.mu.Lock()
	delete(p.pairs, c)
	p.mu.Unlock()
}

// requests passes on what the client asks, command by command.
func (p *Proxy) requests(c *pair) {
	in := bufio.NewReader(c.client)
	for {
		raw, name, err := readCommand(in)
		if err != nil || !p.pause(c, 0) {
			return
		}
		if name == "psync" || name == "sync" {
			c.replica.Store(true)
		}
		c.mu.Lock()
		c.pending = append(c.pending, name)
		c.mu.Unlock()
		if isScript(name) {
			p.scripts.Add(1)
			p.moment(Asked)
		}
		if _, err := c.server.Write(raw); err != nil {
			return
		}
	}
}

// replies passes back what the server answers, reply by reply.
func (p *Proxy) replies(c *pair) {
	in := bufio.NewReader(c.server)
	for {
		raw, err := readReply(in)
		if err != nil {
			return
		}
		script := isScript(c.answered()) && !bytes.HasPrefix(raw, []byte("-NOSCRIPT"))
		if script {
			p.moment(Executed)
		}
		p.mu.Lock()
		delay, how, lost := p.delay, p.how, script && p.lose > 0 && p.keep == 0
		switch {
		case lost:
			p.lose--
		case script && p.keep > 0:
			p.keep--
		}
		p.mu.Unlock()
		if !p.pause(c, delay) {
			return
		}
		if lost {
			p.lost.Add(1)
			switch how {
			case Closed:
				return
			case Torn:
				_, _ = c.client.Write(raw[:len(raw)/2])
				time.Sleep(time.Millisecond) // a reset overtakes what was not read
				c.end(true)
				return
			case Swallowed:
				continue
			}
		}
		if _, err := c.client.Write(raw); err != nil {
			return
		}
		if c.replica.Load() {
			p.replicate(c, in)
			return
		}
	}
}

// answered is the command that the next reply is to, "" for a message that nobody asked for.
func (c *pair) answered() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) == 0 {
		return ""
	}
	name := c.pending[0]
	c.pending = c.pending[1:]
	return name
}

// pause waits for d, and then while the proxy hangs; false: the connection is gone.
func (p *Proxy) pause(c *pair, d time.Duration) bool {
	if d > 0 {
		select {
		case <-time.After(d):
		case <-c.gone:
			return false
		}
	}
	for {
		p.mu.Lock()
		hold := p.hold
		p.mu.Unlock()
		if hold == nil {
			return true
		}
		select {
		case <-hold:
		case <-c.gone:
			return false
		}
	}
}

func (p *Proxy) moment(m Moment) {
	p.mu.Lock()
	watch := p.watch
	p.mu.Unlock()
	if watch != nil {
		watch(m)
	}
}

// replicate passes on a replica's stream, late by the lag.
func (p *Proxy) replicate(c *pair, in io.Reader) {
	type piece struct {
		due  time.Time
		data []byte
	}
	queue := make(chan piece, 1<<16)
	var writer sync.WaitGroup
	writer.Go(func() {
		for next := range queue {
			if p.pause(c, time.Until(next.due)) {
				_, _ = c.client.Write(next.data)
			}
		}
	})
	defer writer.Wait()
	defer c.end(true)
	defer close(queue)
	buffer := make([]byte, 64<<10)
	for {
		n, err := in.Read(buffer)
		if err != nil {
			return
		}
		p.mu.Lock()
		lag := p.lag
		p.mu.Unlock()
		queue <- piece{time.Now().Add(lag), bytes.Clone(buffer[:n])}
	}
}

func isScript(name string) bool { return name == "evalsha" || name == "eval" || name == "fcall" }

var errProtocol = errors.New("faulty: this is not Redis' protocol")

// readCommand reads one command and its name in small letters; an empty line is one without a name.
func readCommand(in *bufio.Reader) (raw []byte, name string, err error) {
	raw, err = in.ReadBytes('\n')
	if err != nil {
		return nil, "", err
	}
	if raw[0] != '*' {
		name, _, _ = strings.Cut(strings.TrimSpace(string(raw)), " ")
		return raw, strings.ToLower(name), nil
	}
	n, err := number(raw)
	for i := 0; i < n && err == nil; i++ {
		var word []byte
		if word, err = readReply(in); err == nil && i == 0 {
			_, text, _ := bytes.Cut(word, []byte("\r\n"))
			name = strings.ToLower(strings.TrimSpace(string(text)))
		}
		raw = append(raw, word...)
	}
	return raw, name, err
}

// readReply reads one value of Redis' protocol, version 2 or 3, as it is.
func readReply(in *bufio.Reader) ([]byte, error) {
	raw, err := in.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	var values int
	switch raw[0] {
	case '+', '-', ':', '_', ',', '#', '(', '\n', '\r':
		return raw, nil
	case '$', '=', '!':
		n, err := number(raw)
		if err != nil || n < 0 {
			return raw, err
		}
		text := make([]byte, n+2)
		_, err = io.ReadFull(in, text)
		return append(raw, text...), err
	case '*', '~', '>':
		values, err = number(raw)
	case '%':
		values, err = number(raw)
		values *= 2
	default:
		return nil, errProtocol
	}
	for i := 0; i < values && err == nil; i++ {
		var value []byte
		value, err = readReply(in)
		raw = append(raw, value...)
	}
	return raw, err
}

// number is that of a line such as "*3\r\n".
func number(line []byte) (int, error) {
	n := 0
	if _, err := fmt.Sscan(string(bytes.TrimSpace(line[1:])), &n); err != nil || n > 1<<26 {
		return 0, errProtocol
	}
	return n, nil
}
