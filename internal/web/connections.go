package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/quota/httplimit"
)

// room limits the clients that a listener holds at once. The site and admin listeners have one each.
type room struct {
	all        int // connections
	perAddress int // from one address or IPv6 /64; a reverse proxy is one address
	spare      int // extra, each for one answer of /livez
}

// usualRoom gives one address half of all places: enough for two hundred open pages behind one proxy, as idle
// connections are replaced. It is a variable so that a test can set it.
var usualRoom = room{all: 512, perAddress: 256, spare: 16}

// errNoRoom ends a connection that does not fit even into the spare room.
var errNoRoom = errors.New("too many connections")

// connections keeps a listener's connections within its room. A new connection beyond it replaces the oldest idle one.
// If none is idle, the new one may still ask /livez: a probe must not fail because clients are slow.
type connections struct {
	net.Listener
	room room

	mu        sync.Mutex
	open      map[*connection]bool
	ofAddress map[netip.Prefix]int
	spare     int
}

// connection is one connection of a listener; in.mu guards its fields.
type connection struct {
	net.Conn
	in      *connections
	address netip.Prefix // invalid: no address, as on a Unix socket
	spare   bool
	idle    time.Time // start of its idle time; zero during a request
}

// Accept implements net.Listener.
func (cs *connections) Accept() (net.Conn, error) {
	for {
		accepted, err := cs.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &connection{Conn: accepted, in: cs, address: addressOf(accepted), idle: time.Now()}
		evicted, err := cs.add(c)
		if evicted != nil {
			_ = evicted.Conn.Close()
		}
		if err == nil {
			return c, nil
		}
		_ = accepted.Close()
	}
}

// add admits a connection, and returns the one to close in its place; nil if there is room for both.
func (cs *connections) add(c *connection) (evicted *connection, err error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	full := len(cs.open)-cs.spare >= cs.room.all
	if crowded := c.address.IsValid() && cs.ofAddress[c.address] >= cs.room.perAddress; crowded || full {
		evicted = cs.oldestIdle(func(other *connection) bool { return !crowded || other.address == c.address })
		switch {
		case evicted != nil:
			cs.remove(evicted)
		case cs.spare >= cs.room.spare:
			return nil, errNoRoom
		default:
			c.spare = true
		}
	}
	cs.open[c] = true
	if c.spare {
		cs.spare++
	} else {
		cs.ofAddress[c.address]++
	}
	return evicted, nil
}

// oldestIdle returns the connection that has been idle longest and may be closed; nil if there is none.
func (cs *connections) oldestIdle(may func(*connection) bool) (oldest *connection) {
	for c := range cs.open {
		if !c.idle.IsZero() && !c.spare && may(c) && (oldest == nil || c.idle.Before(oldest.idle)) {
			oldest = c
		}
	}
	return oldest
}

// remove forgets a connection; repeating it does no harm.
func (cs *connections) remove(c *connection) {
	if !cs.open[c] {
		return
	}
	delete(cs.open, c)
	if c.spare {
		cs.spare--
		return
	}
	if cs.ofAddress[c.address]--; cs.ofAddress[c.address] == 0 {
		delete(cs.ofAddress, c.address)
	}
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.in.mu.Lock()
	c.in.remove(c)
	c.in.mu.Unlock()
	return c.Conn.Close()
}

// watch is an http.Server's ConnState.
func (cs *connections) watch(conn net.Conn, state http.ConnState) {
	c, ok := conn.(*connection)
	if !ok {
		return
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	switch state {
	case http.StateActive:
		c.idle = time.Time{}
	case http.StateIdle:
		c.idle = time.Now()
	case http.StateNew, http.StateHijacked, http.StateClosed:
	}
}

// inSpareRoom is the context key that marks requests of a connection in the spare room.
type inSpareRoom struct{}

// connContext is an http.Server's ConnContext.
func connContext(ctx context.Context, conn net.Conn) context.Context {
	if c, ok := conn.(*connection); ok && c.spare {
		return context.WithValue(ctx, inSpareRoom{}, true)
	}
	return ctx
}

// onlyLivez lets a connection in the spare room ask /livez once, and nothing else.
func onlyLivez(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value(inSpareRoom{}) != nil {
			w.Header().Set("Connection", "close")
			if r.URL.Path != "/livez" {
				w.Header().Set("Retry-After", "5")
				httplimit.Problem{Status: http.StatusServiceUnavailable,
					Detail: "too many clients are connected: try again soon"}.Write(w)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// addressOf returns the client's address in the form that limits use to distinguish clients.
func addressOf(conn net.Conn) netip.Prefix {
	peer, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return netip.Prefix{}
	}
	addr, bits := peer.Addr().Unmap().WithZone(""), 32
	if addr.Is6() {
		bits = 64
	}
	prefix, _ := addr.Prefix(bits)
	return prefix
}
