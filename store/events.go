package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
)

// Events are an outbox: the store writes each in the transaction of its change. So hooks receive every committed change
// and no change that was rolled back. Write transactions run one at a time, so that ids are in the order of the
// commits.

// Rows of meta: the state of each hook, by name, and the known situations, by domain and key.
const (
	hooksNote      = "hooks"
	situationsNote = "situations"
)

// SetHooks sets the events of each hook: the store writes only these from then on. It is to be called
// before the store is used.
func (s *Store) SetHooks(hooks map[string][]ingest.EventName) { s.hooks = hooks }

// lastEvent is the id of the newest event, deleted ones included.
const lastEvent = `coalesce((SELECT max(id) FROM events), 0)`

type hookStates map[string]*ingest.HookState

// readHooks reads the states, and adds this process's hooks: a new one receives the events from now on.
func (s *Store) readHooks(ctx context.Context, q querier, now time.Time) (all hookStates, last int64, err error) {
	all = hookStates{}
	if err := readNote(ctx, q, hooksNote, asJSON{&all}); err != nil {
		return nil, 0, err
	}
	if err := q.QueryRowContext(ctx, `SELECT `+lastEvent).Scan(&last); err != nil {
		return nil, 0, err
	}
	for _, state := range all {
		last = max(last, state.Cursor)
	}
	for name, on := range s.hooks {
		if all[name] == nil {
			all[name] = &ingest.HookState{Cursor: last}
		}
		if state := all[name]; now.Sub(state.SeenAt) >= time.Hour || !slices.Equal(state.On, on) {
			state.On, state.SeenAt = on, now.UTC().Truncate(time.Second)
		}
	}
	maps.DeleteFunc(all, func(_ string, h *ingest.HookState) bool { return now.Sub(h.SeenAt) > ingest.KeepEvents })
	return all, last, nil
}

// wants reports whether a hook receives an event.
func (s *Store) wants(name ingest.EventName) bool {
	for _, on := range s.hooks {
		if slices.Contains(on, name) {
			return true
		}
	}
	return false
}

// addEvent writes an event, unless no hook wants it.
func (s *Store) addEvent(ctx context.Context, tx *txn, name ingest.EventName, data any) error {
	if !s.wants(name) {
		return nil
	}
	now := s.now()
	all, last, err := s.readHooks(ctx, tx, now)
	if err != nil {
		return err
	}
	if err := writeNote(ctx, tx, hooksNote, asJSON{all}); err != nil { // a new hook begins before this event
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO events (id, key, name, at, data) VALUES (?, ?, ?, ?, ?)`,
		last+1, "msg_"+rand.Text(), string(name), now.UnixMilli(), asJSON{data})
	return err
}

// waits is a condition on events: a hook whose cursor is ?1 and that wants the names in ?2 has not received them yet.
const waits = `id > ?1 AND name IN (SELECT value FROM json_each(?2))`

// NextEvent returns the next event for a hook, and leases the hook to the owner. ok is false if there is none, if
// another process has the lease, or if it is too early for a retry.
func (s *Store) NextEvent(ctx context.Context, c ingest.HookClaim) (e ingest.Event, ok bool, err error) {
	var idle bool
	err = s.view(ctx, "look for events to send", func(tx *txn) error {
		all, last, err := s.readHooks(ctx, tx, c.Now)
		h := all[c.Name]
		idle = h == nil || h.Cursor == last && h.Owner == "" || h.RetryAt.After(c.Now) || isLeased(h, c)
		return err
	})
	if err != nil || idle {
		return e, false, err
	}
	err = s.tx(ctx, "lease a hook", func(tx *txn) error {
		all, last, err := s.readHooks(ctx, tx, c.Now)
		h := all[c.Name]
		if err != nil || h == nil || h.RetryAt.After(c.Now) || isLeased(h, c) {
			return err
		}
		if err := dropEvents(ctx, tx, all, last, c.Now); err != nil {
			return err
		}
		e, err = scanEvent(tx.QueryRowContext(ctx, `SELECT id, key, name, at, data FROM events WHERE `+
			waits+` ORDER BY id LIMIT 1`, h.Cursor, listJSON(h.On)))
		if ok = err == nil; ok {
			h.Owner, h.Lease, e.Tries = c.Owner, c.Now.Add(c.Lease).UTC(), h.Tries
		} else if errors.Is(err, sql.ErrNoRows) {
			h.Cursor, h.Owner, h.Lease, err = last, "", time.Time{}, nil
		}
		if err != nil {
			return err
		}
		return keepHooks(ctx, tx, all)
	})
	return e, ok && err == nil, err
}

// isLeased reports whether another process has the hook's lease.
func isLeased(h *ingest.HookState, c ingest.HookClaim) bool {
	return h.Owner != "" && h.Owner != c.Owner && h.Lease.After(c.Now) &&
		!h.Lease.After(c.Now.Add(time.Hour)) && !c.Died(h.Owner)
}

func scanEvent(row scanner) (e ingest.Event, err error) {
	var data string
	err = row.Scan(&e.ID, &e.Key, &e.Name, inMillis(&e.At), &data)
	e.Data = json.RawMessage(data)
	return e, err
}

// NoteSent notes that a hook received an event, or why not and when to retry. ErrFenced: the owner's lease is over.
func (s *Store) NoteSent(ctx context.Context, c ingest.HookClaim, e ingest.Event, why string, retryAt time.Time) error {
	return s.tx(ctx, "note an event as sent", func(tx *txn) error {
		all, _, err := s.readHooks(ctx, tx, c.Now)
		h := all[c.Name]
		switch {
		case err != nil:
			return err
		case h == nil || h.Owner != c.Owner || h.Cursor >= e.ID:
			return ingest.ErrFenced
		case why == "":
			h.Cursor, h.Failing, h.Tries, h.RetryAt, h.Why, h.Dropped = e.ID, time.Time{}, 0, time.Time{}, "", 0
		default:
			if h.Failing.IsZero() {
				h.Failing = c.Now.UTC().Truncate(time.Second)
			}
			h.Tries, h.RetryAt, h.Why, h.Owner, h.Lease = h.Tries+1, retryAt.UTC(), Plain(why), "", time.Time{}
		}
		return keepHooks(ctx, tx, all)
	})
}

// keepHooks writes the states, and deletes the events that all hooks have received.
func keepHooks(ctx context.Context, tx *txn, all hookStates) error {
	least := int64(-1)
	for _, h := range all {
		if least < 0 || h.Cursor < least {
			least = h.Cursor
		}
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM events WHERE id <= ?`, least); err != nil {
		return err
	}
	return writeNote(ctx, tx, hooksNote, asJSON{all})
}

// dropEvents deletes events that are too old or too many, and counts them for each hook that has not received them.
func dropEvents(ctx context.Context, tx *txn, all hookStates, last int64, now time.Time) error {
	var upTo int64
	err := tx.QueryRowContext(ctx, `SELECT coalesce(max(id), 0) FROM events WHERE at < ? OR id <= ?`,
		now.Add(-ingest.KeepEvents).UnixMilli(), last-ingest.MaxEvents).Scan(&upTo)
	if err != nil || upTo == 0 {
		return err
	}
	for _, h := range all {
		var n int
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM events WHERE id <= ?3 AND `+waits,
			h.Cursor, listJSON(h.On), upTo).Scan(&n); err != nil {
			return err
		}
		h.Dropped, h.Cursor = h.Dropped+n, max(h.Cursor, upTo)
	}
	return nil
}

// hooksIn returns the states of this process's hooks, with how many events wait for each; nil if it has none.
func (s *Store) hooksIn(ctx context.Context, tx *txn) (map[string]ingest.HookState, error) {
	if len(s.hooks) == 0 {
		return nil, nil //nolint:nilnil // there are none
	}
	all, _, err := s.readHooks(ctx, tx, s.now())
	if err != nil {
		return nil, err
	}
	states := map[string]ingest.HookState{}
	for name := range s.hooks {
		h := *all[name]
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM events WHERE `+waits, h.Cursor,
			listJSON(h.On)).Scan(&h.Waiting); err != nil {
			return nil, err
		}
		states[name] = h
	}
	return states, nil
}

type situation struct {
	Ended ingest.EventName `json:"ended,omitempty"`
	After any              `json:"after,omitempty"`
}

// NoteSituations writes the events of the situations of a domain that have begun or ended since the last call that saw
// the domain. It ignores a view that is older than that call.
func (s *Store) NoteSituations(ctx context.Context, domain string, at time.Time, now []ingest.Situation) error {
	if len(s.hooks) == 0 {
		return nil
	}
	type domainNote struct {
		At  time.Time            `json:"at"`
		Now map[string]situation `json:"now"`
	}
	note := situationsNote + " " + domain
	return s.tx(ctx, "note the situations", func(tx *txn) error {
		var known domainNote
		if err := readNote(ctx, tx, note, asJSON{&known}); err != nil || at.Before(known.At) && known.At.Sub(at) < time.Hour {
			return err
		}
		changed, next := false, map[string]situation{}
		for _, one := range now {
			after := one.After
			if old, ok := known.Now[one.Key]; ok {
				after = cmp.Or(after, old.After)
			} else {
				changed = true
				if err := s.addEvent(ctx, tx, one.Begun, one.Data); err != nil {
					return err
				}
			}
			next[one.Key] = situation{one.Ended, after}
		}
		for _, key := range slices.Sorted(maps.Keys(known.Now)) {
			if _, lasts := next[key]; lasts {
				continue
			}
			changed = true
			if old := known.Now[key]; old.Ended != "" {
				if err := s.addEvent(ctx, tx, old.Ended, old.After); err != nil {
					return err
				}
			}
		}
		if !changed {
			return nil
		}
		return writeNote(ctx, tx, note, asJSON{domainNote{at.UTC(), next}})
	})
}
