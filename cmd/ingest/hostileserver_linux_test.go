package main_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// mostResident is how much memory a process may have held at once beside a hostile server: VmHWM, in MB.
const mostResident = 200

// A ledger or a store whose server answers to do harm costs a command little memory, and ends it with an error in time.
func TestLongAHostileServerTakesLittleOfTheMachinesMemory(t *testing.T) {
	message := func(kind byte, announced int, body string) []byte {
		return append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(announced)), body...)
	}
	whole := func(kind byte, body string) []byte { return message(kind, len(body)+4, body) }
	welcome := slices.Concat(whole('R', "\x00\x00\x00\x00"), whole('S', "standard_conforming_strings\x00on\x00"),
		whole('S', "client_encoding\x00UTF8\x00"), whole('Z', "I"))
	text := strings.Repeat("x", 1<<20)
	for name, reply := range map[string]struct{ once, endless []byte }{
		"redis: a map":                        {once: []byte("%9999999999\r\n")},
		"redis: strings of 30 MB":             {once: []byte("*1000\r\n"), endless: []byte("$30000000\r\n" + strings.Repeat(text, 29)[:30_000_000] + "\r\n")},
		"redis: strings of 1 MB":              {once: []byte("*2000000\r\n"), endless: []byte("$1048576\r\n" + text + "\r\n")},
		"redis: small strings":                {once: []byte("*400000\r\n"), endless: []byte("$10\r\n0123456789\r\n")},
		"redis: arrays of arrays":             {endless: []byte("*1000000\r\n")},
		"redis: deep arrays":                  {endless: []byte(strings.Repeat("*1\r\n", 1<<16))},
		"redis: an error without end":         {once: []byte("-"), endless: []byte(text)},
		"postgres: a greeting of 2 GB":        {once: message('R', 2<<30, ""), endless: []byte(text)},
		"postgres: a refusal of 1 GB":         {once: message('E', 1<<30, "SFATAL\x00"), endless: []byte(text)},
		"postgres: settings without end":      {endless: whole('S', text+"\x00y\x00")},
		"postgres: notices without end":       {endless: whole('N', "M"+text+"\x00\x00")},
		"postgres: a row of 1 GB":             {once: slices.Concat(welcome, message('D', 1<<30, "\x00\x01")), endless: []byte(text)},
		"postgres: rows without end":          {once: welcome, endless: whole('D', "\x00\x01\x00\x00\x00\x0812345678")},
		"postgres: notifications without end": {once: welcome, endless: whole('A', "\x00\x00\x00\x01channel\x00"+strings.Repeat("x", 7000)+"\x00")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind, _, _ := strings.Cut(name, ":")
			url := kind + "://u:hunter2hunter2@" + repeating(t, reply.once, reply.endless) + map[string]string{"redis": "/0", "postgres": "/d?sslmode=disable"}[kind]
			flags := []string{"--ledger"}
			if kind == "postgres" {
				flags = append(flags, "--store")
			}
			for _, flag := range flags {
				began := time.Now()
				code, most, said := atMost(t, "quota", "take", "videos.list", "--data", filepath.Join(t.TempDir(), "data"), flag, url)
				t.Logf("%s: exit %d after %v, at most %d MB: %.200s", flag, code, time.Since(began).Round(time.Millisecond), most, said)
				if most > mostResident {
					t.Errorf("%s: %d MB were resident, want at most %d", flag, most, mostResident)
				}
				if code == exitOK && flag == "--store" || code < 0 || time.Since(began) > 30*time.Second {
					t.Errorf("%s: exit %d after %v: %s", flag, code, time.Since(began), said)
				}
			}
		})
	}
}

// repeating returns the address of a server that answers any request with once, and then endless, for ever.
func repeating(t *testing.T, once, endless []byte) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	if len(endless) > 0 {
		endless = slices.Repeat(endless, 1<<16/len(endless)+1)
	}
	serve := func(c net.Conn) {
		defer func() { _ = c.Close() }()
		_, err := c.Read(make([]byte, 1<<16))
		if err == nil {
			_, err = c.Write(once)
		}
		for err == nil && len(endless) > 0 {
			_, err = c.Write(endless)
		}
		for err == nil {
			_, err = c.Read(make([]byte, 1<<16))
		}
	}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return listener.Addr().String()
}

// atMost runs the program, and returns the most memory that it held at once, in MB. A process's own account of that
// ends with it, and its parent's would include the parent.
func atMost(t *testing.T, args ...string) (code, most int, said string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), self(t), args...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	must(t, cmd.Start())
	done := make(chan struct{})
	go func() { defer close(done); _ = cmd.Wait() }()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return cmd.ProcessState.ExitCode(), most, out.String()
		case <-tick.C:
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
			if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok {
				kb, _ := strconv.Atoi(strings.Fields(rest)[0])
				most = max(most, kb>>10)
			}
		}
	}
}
