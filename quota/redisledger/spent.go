package redisledger

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// Spent implements quota.Ledger. It reads page by page to block the server only briefly: a pool's sums are of one
// moment, the sums of different pools are not.
func (l *Ledger) Spent(ctx context.Context, account string, since time.Time,
	every time.Duration) ([]quota.Spent, error) {
	if err := quota.CheckAccount(account); err != nil {
		return nil, err
	}
	pools, spenders, err := l.names(ctx, account)
	if err != nil {
		return nil, err
	}
	sums := map[quota.Spent]int64{}
	for _, pool := range pools {
		log, err := l.logSince(ctx, account, pool, max(since.UnixMicro(), 1))
		if err != nil {
			return nil, err
		}
		_, entries, err := readEntries(log.entries, log.total, nil)
		if err != nil {
			return nil, corrupt(log.keys, err.Error())
		}
		for i, e := range entries {
			id := spenderOf(log.entries[i])
			who, known := spenders[id]
			if !known { // a new spender
				if _, spenders, err = l.names(ctx, account); err != nil {
					return nil, err
				}
				who = spenders[id]
				spenders[id] = who
			}
			sums[quota.Spent{Pool: pool, Who: who, Part: protocol.Part(e.At, since.UnixMicro(), every)}] += e.Amount
		}
	}
	var spent []quota.Spent
	for s, amount := range sums {
		if s.Amount = amount; amount > 0 {
			spent = append(spent, s)
		}
	}
	slices.SortFunc(spent, quota.Spent.Compare)
	return spent, nil
}

// logSince reads a pool's log from a time on.
func (l *Ledger) logSince(ctx context.Context, account, pool string, since int64) (log logTail, err error) {
	for range maxRounds {
		log = l.log(account, pool)
		if _, err = log.read(ctx, since, exact); !errors.Is(err, errChanged) {
			break
		}
	}
	if errors.Is(err, sharedledger.ErrLost) { // the next take will handle the loss
		err = corrupt(log.keys, err.Error())
	}
	return log, err
}

// names returns the pools of an account, and its spenders by id; id 0 stands for spenders whose names are not stored.
func (l *Ledger) names(ctx context.Context, account string) (pools []string, spenders map[uint16]quota.Who, err error) {
	keys, cursor := l.keys(account), "0"
	spenders = map[uint16]quota.Who{nobodyID: {}, unattributedID: sharedledger.Unattributed}
	for {
		reply, err := l.run(ctx, l.scripts["scan"], keys, []any{metaField, cursor})
		if err != nil {
			return nil, nil, err
		}
		if cursor, err = readNames(reply, &pools, spenders); err != nil {
			return nil, nil, corrupt(keys, err.Error())
		}
		if cursor == "0" {
			slices.Sort(pools)
			return slices.Compact(pools), spenders, nil // a scan may repeat names
		}
	}
}

// readNames reads an answer of scan.lua.
func readNames(reply any, pools *[]string, spenders map[uint16]quota.Who) (cursor string, err error) {
	parts, _ := reply.([]any)
	if len(parts)%2 != 1 {
		return "", fmt.Errorf("an answer of another shape: %T", reply)
	}
	cursor, ok := parts[0].(string)
	for i := 1; i < len(parts); i += 2 {
		field, _ := parts[i].(string)
		id, _ := parts[i+1].(string)
		if pool, isPool := strings.CutPrefix(field, poolField); isPool && pool != "" {
			*pools = append(*pools, pool)
		} else if !isPool {
			who, err := readWho(field)
			if err != nil || len(id) != 2 {
				return "", fmt.Errorf("field %q is neither a pool nor a spender", field)
			}
			spenders[binary.BigEndian.Uint16([]byte(id))] = who
		}
	}
	if !ok {
		return "", fmt.Errorf("an answer of another shape: %T", parts[0])
	}
	return cursor, nil
}

func readWho(field string) (quota.Who, error) {
	text, ok := strings.CutPrefix(field, whoPrefix)
	var w []string
	if err := json.Unmarshal([]byte(text), &w); !ok || err != nil || len(w) != 4 {
		return quota.Who{}, fmt.Errorf("field %q is not a spender", field)
	}
	return quota.Who{Purpose: quota.Purpose(w[0]), Region: w[1], Client: w[2], Method: w[3]}, nil
}
