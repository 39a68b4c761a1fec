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
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/trendvidstream/ingest/internal/postgres"
)

// message is a message of the server with a false length of its body.
func message(kind byte, length int, body string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(length+4)), body...)
}

// whole is a message with the length of its body.
func whole(kind byte, body string) []byte { return message(kind, len(body), body) }

// A server that announces more than any message has, or says the same for ever, gets no memory and no time for it.
func TestAHostileServerTakesLittleMemory(t *testing.T) {
	welcome := slices.Concat(whole('R', "\x00\x00\x00\x00"), whole('S', "standard_conforming_strings\x00on\x00"), whole('S', "client_encoding\x00UTF8\x00"), whole('Z', "I"))
	table := whole('T', "\x00\x01n\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x14\x00\x08\xff\xff\xff\xff\x00\x00") // of one number
	always := func(b []byte) func(int) []byte {
		b = bytes.Repeat(b, 1<<16/len(b)+1)
		return func(int) []byte { return b }
	}
	t.Parallel()
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // as the program has it: make test collects less often
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
		"an answer without end":           {atOnce: welcome, onQuery: table, endless: always(whole('D', "\x00\x01\x00\x00\x00\x08"+"12345678"))},
		"results without end":             {atOnce: welcome, onQuery: table, endless: always(slices.Concat(whole('C', "SELECT 0\x00"), table))},
		"notifications without end":       {atOnce: welcome, onQuery: table, endless: always(whole('A', "\x00\x00\x00\x01channel\x00"+strings.Repeat("x", 7000)+"\x00"))},
		"settings without end, later":     {atOnce: welcome, onQuery: table, endless: func(n int) []byte { return whole('S', fmt.Sprint(n)+strings.Repeat("x", 1<<16)+"\x00y\x00") }},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := postgres.Parse("postgres://u:p@" + hostile(t, tt.atOnce, tt.onQuery, tt.endless) + "/d?sslmode=disable&connect_timeout=2")
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			runtime.GC() // the garbage of the server before does not count
			most := make(chan uint64, 1)
			done := make(chan struct{})
			go func() { most <- heap(done) }()
			began := time.Now()
			conn, err := pgx.ConnectConfig(ctx, c.ConnConfig)
			if err == nil {
				rows, _ := conn.Query(ctx, "SELECT 1", pgx.QueryExecModeSimpleProtocol)
				_, err = pgx.CollectRows(rows, pgx.RowTo[int64])
				_ = conn.Close(ctx)
			}
			took := time.Since(began)
			close(done)
			if err == nil || strings.Contains(err.Error(), ":p@") || strings.Contains(err.Error(), "must be run with") {
				t.Errorf("the error is %v", err)
			}
			mb := <-most >> 20
			t.Logf("%d MB in use, %v, the error is %v", mb, took, err)
			if mb > 200 || took > 5*time.Second {
				t.Errorf("%d MB were in use, and it took %v, want at most 200 MB and 5s", mb, took)
			}
		})
	}
}

// A server's error that repeats the password never shows it, however its bytes arrive.
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

// A password that arrives in parts is masked, wherever it is cut, also where the client's buffer of 8 KiB ends.
func TestAPasswordThatArrivesInPartsIsMasked(t *testing.T) {
	c, err := postgres.Parse("postgres://u:hunter2hunter2@127.0.0.1/d")
	if err != nil {
		t.Fatal(err)
	}
	refusal := whole('E', "SFATAL\x00C28P01\x00Mno hunter2hunter2, no\x00\x00")
	for before := range 2 * len(refusal) {
		before = []int{before, 8192 - before}[before%2]
		all := slices.Concat(whole('S', "a\x00"+strings.Repeat("x", before)+"\x00"), refusal)
		for cut := range refusal {
			cut += len(all) - len(refusal)
			parts := io.MultiReader(bytes.NewReader(all[:cut]), bytes.NewReader(all[cut:]))
			if cut == len(all)-1 {
				parts = iotest.OneByteReader(bytes.NewReader(all))
			}
			server := c.ConnConfig.BuildFrontend(parts, io.Discard)
			_, err := server.Receive()
			if err != nil {
				t.Fatal(err)
			}
			got, err := server.Receive()
			if refused, ok := got.(*pgproto3.ErrorResponse); !ok || refused.Message != "no **************, no" {
				t.Fatalf("after %d bytes, cut at %d of %d: %v, %+v", before, cut, len(all), err, got)
			}
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
				buffer := make([]byte, 4096)
				for asked := onQuery == nil; err == nil && !asked; {
					var n int
					n, err = c.Read(buffer)
					asked = bytes.Contains(buffer[:n], []byte("SELECT 1"))
				}
				if err == nil {
					_, err = c.Write(onQuery)
				}
				for n := 0; err == nil && endless != nil; n++ {
					_, err = c.Write(endless(n))
				}
				_, _ = io.Copy(io.Discard, c)
			}()
		}
	}()
	return listener.Addr().String()
}
