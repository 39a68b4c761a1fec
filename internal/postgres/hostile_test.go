package postgres_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/trendvidstream/ingest/internal/postgres"
)

// message is a message of the server that says of its body what it likes.
func message(kind byte, length int, body string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(length+4)), body...)
}

// whole is a message whose length is its body's.
func whole(kind byte, body string) []byte { return message(kind, len(body), body) }

// A server that announces more than any message has, or says the same for ever, gets no memory and no time for it.
func TestAHostileServerTakesLittleMemory(t *testing.T) {
	welcome := append(whole('R', "\x00\x00\x00\x00"), whole('Z', "I")...)
	t.Parallel()
	for name, tt := range map[string]struct {
		atOnce, onQuery []byte
		endless         func(n int) []byte
	}{
		"a greeting of 2 GB":              {atOnce: message('R', 2<<30, "")},
		"a refusal of 1 GB":               {atOnce: message('E', 1<<30, "SFATAL\x00")},
		"a length below its own":          {atOnce: message('R', -4, "")},
		"settings without end":            {endless: func(n int) []byte { return whole('S', fmt.Sprint(n)+strings.Repeat("x", 1<<20)+"\x00y\x00") }},
		"notices without end":             {endless: func(int) []byte { return whole('N', "M"+strings.Repeat("x", 1<<20)+"\x00\x00") }},
		"a row of 1 GB":                   {atOnce: welcome, onQuery: message('D', 1<<30, "\x00\x01")},
		"a row of 65,535 fields of 2 GB":  {atOnce: welcome, onQuery: whole('D', "\xff\xff\x7f\xff\xff\xff")},
		"a description of 65,535 columns": {atOnce: welcome, onQuery: whole('T', "\xff\xff")},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := postgres.Parse("postgres://u:p@" + hostile(t, tt.atOnce, tt.onQuery, tt.endless) + "/d?sslmode=disable&connect_timeout=2")
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			most := make(chan uint64, 1)
			done := make(chan struct{})
			go func() { most <- heap(done) }()
			began := time.Now()
			conn, err := pgx.ConnectConfig(ctx, c.ConnConfig)
			if err == nil {
				_, err = conn.Exec(ctx, "SELECT 1")
				_ = conn.Close(ctx)
			}
			took := time.Since(began)
			close(done)
			if err == nil || strings.Contains(err.Error(), ":p@") {
				t.Errorf("the error is %v", err)
			}
			if mb := <-most >> 20; mb > 200 || took > 5*time.Second {
				t.Errorf("%d MB were in use, and it took %v", mb, took)
			}
		})
	}
}

// A server's error that repeats the password shows it to nobody, however its bytes arrive.
func TestAServerThatRepeatsThePasswordIsNotQuoted(t *testing.T) {
	refusal := whole('E', "SFATAL\x00VFATAL\x00C28P01\x00Mno user with hunter2hunter2\x00Hnot \"hunter2hun\x00\x00")
	for name, server := range map[string]struct{ atOnce, onQuery []byte }{
		"at once":    {atOnce: refusal},
		"to a query": {atOnce: slices.Concat(whole('R', "\x00\x00\x00\x00"), whole('Z', "I")), onQuery: refusal},
	} {
		c, err := postgres.Parse("postgres://u:hunter2hunter2@" + hostile(t, server.atOnce, server.onQuery, nil) + "/d?sslmode=disable&connect_timeout=2")
		if err != nil {
			t.Fatal(err)
		}
		conn, err := pgx.ConnectConfig(t.Context(), c.ConnConfig)
		if err == nil {
			_, err = conn.Exec(t.Context(), "SELECT 1", pgx.QueryExecModeSimpleProtocol)
			_ = conn.Close(t.Context())
		}
		refused, ok := errors.AsType[*pgconn.PgError](err)
		if !ok || refused.Message != "no user with **************" || refused.Hint != `not "**********` || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error is %v, %+v", name, err, refused)
		}
	}
}

// heap returns the most memory that was in use until done.
func heap(done <-chan struct{}) (most uint64) {
	for {
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		most = max(most, now.HeapInuse)
		select {
		case <-done:
			return most
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// hostile returns the address of a server that says something at once, then to each message, or one thing without end.
func hostile(t *testing.T, atOnce, onQuery []byte, endless func(int) []byte) string {
	t.Helper()
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
			go func() {
				defer func() { _ = c.Close() }()
				if _, err := io.ReadFull(c, make([]byte, 8)); err != nil { // it has begun to say who it is
					return
				}
				_, err := c.Write(atOnce)
				for n := 0; err == nil && endless != nil; n++ {
					_, err = c.Write(endless(n))
				}
				buffer := make([]byte, 4096)
				for err == nil {
					var n int
					if n, err = c.Read(buffer); err == nil && bytes.Contains(buffer[:n], []byte("SELECT 1")) {
						_, err = c.Write(onQuery)
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}
