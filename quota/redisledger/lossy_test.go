package redisledger_test

import (
	"bytes"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// lossy stands between a ledger and its server. While lose is set, the reply to the next script is
// dropped and its connection cut, after the server has carried it out.
type lossy struct {
	lose  atomic.Bool
	asked atomic.Int64 // scripts
	url   string
}

func lossyProxy(t testing.TB, server string) *lossy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &lossy{url: fmt.Sprintf("redis://%s", listener.Addr())}
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			wait.Go(func() { p.serve(client, server) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		wait.Wait()
	})
	return p
}

// serve passes on one connection until either side closes it.
func (p *lossy) serve(client net.Conn, server string) {
	defer func() { _ = client.Close() }()
	upstream, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	var script atomic.Bool
	var wait sync.WaitGroup
	wait.Go(func() {
		defer func() { _ = client.Close() }()
		pass(client, upstream, func(b []byte) bool {
			return !script.Swap(false) || bytes.HasPrefix(b, []byte("-NOSCRIPT")) || !p.lose.Swap(false)
		})
	})
	pass(upstream, client, func(b []byte) bool {
		if bytes.Contains(b, []byte("evalsha")) {
			script.Store(true)
			p.asked.Add(1)
		}
		return true
	})
	_ = upstream.Close()
	wait.Wait()
}

// pass copies until an error, or until look says no.
func pass(to, from net.Conn, look func([]byte) bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil || !look(buffer[:n]) {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}
