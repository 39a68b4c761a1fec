package redisledger_test

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/redisledger"
)

func packed(values ...uint64) string {
	var b []byte
	for _, v := range values {
		b = append(b, binary.BigEndian.AppendUint64(nil, v)[1:]...)
	}
	return string(b)
}

var replyNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func replyAsk() quota.Ask {
	a := benchAsk("a", 10, 100, "units")
	a.Now, a.Midnights = replyNow, quota.Midnights(replyNow, time.UTC)
	return a
}

func TestRefusesAnswersThatDoNotAddUp(t *testing.T) {
	now, first := uint64(replyNow.UnixMicro()), uint64(replyNow.Add(-time.Hour).UnixMicro())
	for name, reply := range map[string]any{
		"nothing":                           nil,
		"an integer":                        int64(1),
		"an array":                          []any{int64(1)},
		"an empty string":                   "",
		"too short":                         packed(7, 9, 1, now),
		"too long":                          packed(7, 9, 1, now, 50, 0, 0, 0, 0, 0, 50, 51, 0, first, 0, 0, first, 0) + "x",
		"charged above the ceiling":         packed(7, 9, 1, now, 95, 0, 0, 0, 0, 0, 50, 51, 0, first, 0, 0, first, 0),
		"refused with room":                 packed(7, 9, 0, now, 50, 0, 0, 0, 0, 0, 50, 0, 0, first, 0, 0, first, 0),
		"charged while drained":             packed(7, 9, 1, now, 50, now+1, 0, 0, 0, 0, 50, 51, 0, first, 0, 0, first, 0),
		"more gone than ever there":         packed(7, 9, 1, now, 50, 0, 0, 0, 0, 0, 50, 51, 51, first, 0, 0, first, 0),
		"a clock outside the midnights":     packed(7, 9, 1, 1, 50, 0, 0, 0, 0, 0, 50, 51, 0, first, 0, 0, first, 0),
		"no clock":                          packed(7, 9, 1, 0, 50, 0, 0, 0, 0, 0, 50, 51, 0, first, 0, 0, first, 0),
		"refused, but nothing has to leave": packed(7, 9, 0, now, 95, 0, 0, 0, 0, 0, 50, 0, 0, first, 0, 0, first, 0),
		"a number that is not exact":        packed(7, 9, 1, now, 1<<55, 0, 0, 0, 0, 0, 50, 51, 1<<55, first, 0, 1<<55, first, 0),
	} {
		if d, err := redisledger.DecodeTake(replyAsk(), reply); err == nil {
			t.Errorf("%s: %+v, want an error", name, d)
		}
	}
	d, err := redisledger.DecodeTake(replyAsk(), packed(7, 9, 1, now, 50, 0, 0, 0, 0, 0, 50, 51, 0, first, 0, 0, first, 0))
	if err != nil || !d.Allowed || d.Pools[0].Entry != 51 || d.Pools[0].Remaining != 40 {
		t.Errorf("a good answer: %+v, %v", d, err)
	}
}

// No answer makes the decoding panic, or opens the gate when its sums do not.
func FuzzReply(f *testing.F) {
	now, first := uint64(replyNow.UnixMicro()), uint64(replyNow.Add(-time.Hour).UnixMicro())
	f.Add(packed(7, 9, 1, now, 50, 0, 0, 0, 0, 0, 50, 51, 0, first, 0, 0, first, 0))
	f.Add(packed(7, 9, 0, now, 95, 0, 0, 0, 0, 0, 50, 0, 0, first, first, 0, first, 95))
	f.Add("w\x06manual\x02USvideos.list")
	f.Fuzz(func(t *testing.T, s string) {
		d, err := redisledger.DecodeTake(replyAsk(), s)
		if err == nil && d.Allowed {
			for _, w := range d.Pools[0].Windows {
				if w.Used < 10 || w.Used > 100 {
					t.Fatalf("%x: allowed at %d used, want at least 10 and at most 100", s, w.Used)
				}
			}
		}
		for _, reply := range []any{s, []any{s}, []any{s, "w\x06manual\x02USvideos.list", s}, []any{"0", s, "id"}} {
			_ = redisledger.DecodeNames(reply)
		}
		for _, reply := range []any{s, []any{int64(1), int64(1), s, s, s}, []any{int64(1), int64(1), "", s, strings.Repeat("x", 28)}} {
			_ = redisledger.DecodeState(reply)
		}
	})
}
