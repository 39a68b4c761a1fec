package redisledger

import (
	"fmt"
	"strings"

	"github.com/trendvidstream/ingest/quota"
)

// clockLine reads the clock in the production scripts.
const clockLine = "local time = redis.call('TIME') local now = time[1] * 1000000 + time[2] -- clock"

// OpenWithClock opens a ledger whose clock is the value of a key of the server, in microseconds.
func OpenWithClock(url string, o Options, key string) (*Ledger, error) {
	return open(url, o, func(source string) string {
		if !strings.Contains(source, "'TIME'") {
			return source // reads no clock
		}
		if strings.Count(source, "'TIME'") != 1 || strings.Count(source, clockLine) != 1 {
			panic("a script must read the clock once, by clockLine")
		}
		return strings.Replace(source, clockLine, fmt.Sprintf("local now = tonumber(redis.call('GET', '%s'))", key), 1)
	})
}

// DecodeTake and DecodeNames read answers of the server.
func DecodeTake(a quota.Ask, reply any) (quota.Decision, error) {
	d, _, err := decide(a, reply)
	return d, err
}

func DecodeNames(reply any) error {
	_, err := readNames(reply, new([]string), map[uint16]quota.Who{})
	return err
}

// DecodeState reads state.lua's answer about the hosts and one writer.
func DecodeState(reply any) error {
	found, err := readState(reply, 2)
	if err == nil {
		_, err = remoteState(found, []string{"w"})
	}
	return err
}
