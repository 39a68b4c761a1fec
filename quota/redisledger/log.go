package redisledger

import (
	"context"
	"fmt"

	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// logTail is the end of a pool's log, read page by page.
type logTail struct {
	ledger *Ledger
	keys   []string // of the state and of the log
	field  string   // of the pool

	pos, end      int64 // positions of the first entry and after the last
	entries       []string
	last          string // the last entry before end, which may be before pos; "": none
	total, number int64  // of the pool
}

// logPage is how many entries one step reads.
const logPage = 4096

func (l *Ledger) log(account, pool string) logTail {
	return logTail{ledger: l, keys: l.keys(account, pool), field: poolField + pool}
}

// read reads the log from a time on. If there are more entries than most, it reads nothing and reports long.
func (t *logTail) read(ctx context.Context, from, most int64) (long bool, err error) {
	pos, page, err := t.page(ctx, from, 0)
	if err != nil {
		return false, err
	}
	t.pos, t.end, t.entries, t.last = pos, pos, nil, ""
	if len(page) > 0 && newReader(page[0]).next() < from { // the last entry before from
		t.pos, t.end, t.last, page = pos+1, pos+1, page[0], page[1:]
	}
	if t.number-t.pos > most {
		return true, nil
	}
	t.add(page)
	for t.end < t.number {
		if err := t.next(ctx); err != nil {
			return false, err
		}
	}
	return false, nil
}

// follow reads entries written after the end since.
func (t *logTail) follow(ctx context.Context) error {
	t.entries = nil
	for {
		if err := t.next(ctx); err != nil || t.end == t.number {
			return err
		}
	}
}

// next reads the next page. errChanged: the last entry is not the same any more.
func (t *logTail) next(ctx context.Context) error {
	back := int64(0)
	if t.last != "" {
		back = 1
	}
	pos, page, err := t.page(ctx, 0, t.end-back)
	if err != nil {
		return err
	}
	if pos != t.end-back || int64(len(page)) < back || back == 1 && page[0] != t.last {
		return errChanged
	}
	t.add(page[back:])
	return nil
}

func (t *logTail) add(page []string) {
	t.entries = append(t.entries, page...)
	t.end += int64(len(page))
	if len(page) > 0 {
		t.last = page[len(page)-1]
	}
}

// page asks log.lua for the page from a time or, if that is 0, from a position.
func (t *logTail) page(ctx context.Context, at, pos int64) (int64, []string, error) {
	reply, err := t.ledger.run(ctx, t.ledger.scripts["log"], t.keys,
		[]any{metaField, t.field, put7(nil, at, pos, logPage)})
	if err != nil {
		return 0, nil, err
	}
	parts, _ := reply.([]any)
	if len(parts) != 2 {
		return 0, nil, corrupt(t.keys, fmt.Sprintf("an answer of another shape: %T", reply))
	}
	r := newReader(parts[0])
	t.total, t.number, pos = r.next(), r.next(), r.next()
	list, ok := parts[1].([]any)
	page := make([]string, len(list))
	for i, e := range list {
		page[i], _ = e.(string)
		ok = ok && len(page[i]) >= entrySize
	}
	if err := r.done(); err != nil || !ok {
		return 0, nil, corrupt(t.keys, "it holds something that is not an entry")
	}
	return pos, page, nil
}

// accountState is the answer of state.lua.
type accountState struct {
	now                     int64
	here                    bool // the generation began on this server
	restarted               bool // this server was restarted since with its own data
	horizon, born, spenders int64
	generation              sharedledger.Generation
	fields                  []string // the requested fields, "" if missing
}

func (l *Ledger) accountState(ctx context.Context, account string, fields []string) (s accountState, err error) {
	keys, args := l.keys(account), []any{metaField, serverField}
	for _, f := range fields {
		args = append(args, f)
	}
	reply, err := l.run(ctx, l.scripts["state"], keys, args)
	if err != nil {
		return s, err
	}
	if s, err = readState(reply, len(fields)); err != nil {
		return s, corrupt(keys, err.Error())
	}
	return s, nil
}

const metaSize = 36

// readState reads an answer of state.lua with n fields.
func readState(reply any, n int) (s accountState, err error) {
	parts, _ := reply.([]any)
	if len(parts) != 3+n {
		return s, fmt.Errorf("an answer of another shape: %T", reply)
	}
	now, _ := parts[0].(int64)
	here, _ := parts[1].(int64)
	meta, _ := parts[2].(string)
	s.now, s.here, s.restarted = now, here == 1, here == 2
	if len(meta) == metaSize { // version, horizon, expiry, spenders, generation, birth
		s.horizon = newReader(meta[2:9]).next()
		s.spenders = int64(meta[16])<<8 | int64(meta[17])
		s.generation = sharedledger.Generation(newReader(meta[18:25]).next())
		s.born = newReader(meta[25:32]).next()
	}
	for _, p := range parts[3:] {
		field, ok := p.(string)
		if !ok {
			return s, fmt.Errorf("an answer of another shape: a field that is %T", p)
		}
		s.fields = append(s.fields, field)
	}
	if now <= 0 {
		return s, fmt.Errorf("its clock says %d", now)
	}
	return s, nil
}

const (
	poolSize    = 110
	maxSpenders = 65534
)
