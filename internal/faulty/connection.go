//go:build unix

package faulty

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// pair is a client's connection and the matching one to the server.
type pair struct {
	client, server net.Conn
	gone           chan struct{}
	once           sync.Once
	replica        atomic.Bool // the client is a replica: it receives a stream instead of replies

	mu      sync.Mutex
	pending []kind // commands without a reply yet
}

// end closes both connections; with reset, the client sees a reset.
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
	if err != nil { // the server is down: a reset is the nearest to a refusal that a proxy can do
		if t, ok := client.(*net.TCPConn); ok {
			_ = t.SetLinger(0)
		}
		_ = client.Close()
		return
	}
	c, l := &pair{client: client, server: server, gone: make(chan struct{})}, p.language()
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
		p.replies(c, l)
	})
	p.requests(c, l)
	c.end(false)
	replies.Wait()
	p.mu.Lock()
	delete(p.pairs, c)
	p.mu.Unlock()
}

// requests forwards the client's traffic, command by command.
func (p *Proxy) requests(c *pair, l language) {
	in := bufio.NewReader(c.client)
	for {
		raw, what, err := l.command(in)
		if err != nil || !p.pause(c, 0) {
			return
		}
		if what == replica {
			c.replica.Store(true)
		}
		if what != unanswered {
			c.mu.Lock()
			c.pending = append(c.pending, what)
			c.mu.Unlock()
		}
		if what == script {
			p.scripts.Add(1)
			p.moment(Asked)
		}
		if _, err := c.server.Write(raw); err != nil {
			return
		}
	}
}

// replies forwards the server's replies, except the ones to lose.
func (p *Proxy) replies(c *pair, l language) {
	in := bufio.NewReader(c.server)
	for {
		raw, whole, err := l.reply(in)
		if err != nil {
			return
		}
		executed := whole && c.answered() == script && !bytes.HasPrefix(raw, []byte("-NOSCRIPT"))
		if executed {
			p.moment(Executed)
		}
		delay, how, lost := p.fate(executed)
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
				time.Sleep(time.Millisecond) // otherwise the reset overtakes the half
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

// fate decides about the next reply: how long it is delayed, and whether and how it is lost.
func (p *Proxy) fate(script bool) (delay time.Duration, how Loss, lost bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	lost = script && p.lose > 0 && p.keep == 0
	switch {
	case lost:
		p.lose--
	case script && p.keep > 0:
		p.keep--
	}
	return p.delay, p.how, lost
}

// answered returns the command that the next reply belongs to, plain for a message without a command.
func (c *pair) answered() kind {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) == 0 {
		return plain
	}
	what := c.pending[0]
	c.pending = c.pending[1:]
	return what
}

// pause waits for d, and then for as long as the proxy hangs. It returns false if the connection has ended.
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

// replicate forwards a replica's stream, delayed by the lag.
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
