package redisledger

import (
	"fmt"
	"strings"

	"github.com/trendvidstream/ingest/quota"
)

// clockLine is how the production scripts read the clock.
const clockLine = "local time = redis.call('TIME') local now = time[1] * 1000000 + time[2] -- clock"

// OpenWithClock opens a ledger whose clock is what a key of the server says, in microseconds.
func OpenWithClock(url string, o Options, key string) (*Ledger, error) {
	return open(url, o, func(source string) string {
		if !strings.Contains(source, "'TIME'") {
			return source // it does not read it
		}
		if strings.Count(source, "'TIME'") != 1 || strings.Count(source, clockLine) != 1 {
			panic("a script reads the clock in other than its one line")
		}
		return strings.Replace(source, clockLine, fmt.Sprintf("local now = tonumber(redis.call('GET', '%s'))", key), 1)
	})
}

// Sources are the production scripts by name.
func Sources() map[string]string {
	s := newScripts(func(source string) string { return source })
	own := s.of("an account")
	return map[string]string{
		"take": s.take.source, "refund": s.refund.source, "post": s.post.source, "drain": s.drain.source, "scan": s.scan.source, "log": s.log.source, "stage": s.stage.source,
		"state": s.state.source, "renew": s.renew.source, "rebase": s.rebase.source, "prolong": s.prolong.source, "reset": s.reset.source, "once": own.once.source, "sync": own.sync.source,
	}
}

// DecodeTake and DecodeNames read answers of the server.
func DecodeTake(a quota.Ask, reply any) (quota.Decision, error) {
	d, _, err := decide(a, reply)
	return d, err
}

func DecodeNames(reply any) error {
	n := names{spenders: map[uint16]quota.Who{}}
	_, err := n.read(reply, map[string]bool{})
	return err
}

// DecodeState reads an answer of state.lua, asked about the hosts and a writer.
func DecodeState(reply any) error {
	found, err := readState(reply, 2)
	if err == nil {
		_, err = remoteState(found, []string{"w"})
	}
	return err
}

// Needed are the commands that Inspect looks for.
func Needed() []string { return needed }
