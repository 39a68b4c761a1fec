package redisledger

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// Spent implements quota.Ledger. It reads page by page, so that it keeps nobody else from the server for long: each
// pool's sums are of one time, those of different pools are not.
func (l *Ledger) Spent(ctx context.Context, account string, since time.Time) ([]quota.Spent, error) {
	if err := quota.CheckAccount(account); err != nil {
		return nil, err
	}
	n, err := l.names(ctx, account)
	if err != nil {
		return nil, err
	}
	sums := map[quota.Spent]int64{}
	for _, pool := range n.pools {
		byID, err := l.spentFrom(ctx, account, pool, max(since.UnixMicro(), 1))
		if err != nil {
			return nil, err
		}
		for id, amount := range byID {
			if _, ok := n.spenders[id]; !ok { // one that has come since
				if n, err = l.names(ctx, account); err != nil {
					return nil, err
				}
			}
			sums[quota.Spent{Pool: pool, Who: n.spenders[id]}] += amount
		}
	}
	var spent []quota.Spent
	for s, amount := range sums {
		if s.Amount = amount; amount > 0 {
			spent = append(spent, s)
		}
	}
	quota.SortSpent(spent)
	return spent, nil
}

// spentFrom returns what was spent of a pool since a time, by the ids of spenders.
func (l *Ledger) spentFrom(ctx context.Context, account, pool string, since int64) (map[uint16]int64, error) {
	log := l.log(account, pool)
	_, err := log.read(ctx, since, exact)
	for k := 1; k < maxRounds && errors.Is(err, errChanged); k++ {
		_, err = log.read(ctx, since, exact)
	}
	if errors.Is(err, sharedledger.ErrLost) { // it is whoever takes next who does something about it
		return nil, corrupt(log.keys, err.Error())
	}
	if err != nil {
		return nil, err
	}
	_, entries, err := readEntries(log.entries, log.total, nil)
	if err != nil {
		return nil, corrupt(log.keys, err.Error())
	}
	byID := map[uint16]int64{}
	for i, e := range entries {
		byID[spenderOf(log.entries[i])] += e.Amount
	}
	return byID, nil
}

// names are the pools of an account, and its spenders by id; 0 is nobody, of whom no more than the sum is known.
type names struct {
	pools    []string
	spenders map[uint16]quota.Who
}

func (l *Ledger) names(ctx context.Context, account string) (names, error) {
	n, keys, cursor := names{spenders: map[uint16]quota.Who{nobodyID: {}, unattributedID: sharedledger.Unattributed}}, l.keys(account), "0"
	seen := map[string]bool{}
	for {
		reply, err := l.run(ctx, l.scripts["scan"], keys, []any{metaField, cursor})
		if err != nil {
			return n, err
		}
		if cursor, err = n.read(reply, seen); err != nil {
			return n, corrupt(keys, err.Error())
		}
		if cursor == "0" {
			return n, nil
		}
	}
}

// read reads an answer of scan.lua. It may name again what was seen before.
func (n *names) read(reply any, seen map[string]bool) (cursor string, err error) {
	parts, _ := reply.([]any)
	if len(parts)%2 != 1 {
		return "", fmt.Errorf("an answer of another shape: %T", reply)
	}
	cursor, ok := parts[0].(string)
	for i := 1; i < len(parts); i += 2 {
		field, _ := parts[i].(string)
		id, _ := parts[i+1].(string)
		if pool, isPool := strings.CutPrefix(field, poolField); isPool && pool != "" && !seen[pool] {
			seen[pool], n.pools = true, append(n.pools, pool)
		} else if !isPool {
			who, err := readWho(field)
			if err != nil || len(id) != 2 {
				return "", fmt.Errorf("field %q is neither a pool nor a spender", field)
			}
			n.spenders[binary.BigEndian.Uint16([]byte(id))] = who
		}
	}
	if !ok {
		return "", fmt.Errorf("an answer of another shape: %T", parts[0])
	}
	return cursor, nil
}

func readWho(field string) (quota.Who, error) {
	rest, ok := strings.CutPrefix(field, whoPrefix)
	if !ok {
		return quota.Who{}, fmt.Errorf("field %q is not a spender", field)
	}
	var words [3]string
	for i := range words {
		n, size := binary.Uvarint([]byte(rest))
		if size <= 0 || n > uint64(len(rest)-size) {
			return quota.Who{}, fmt.Errorf("field %q is not a spender", field)
		}
		words[i], rest = rest[size:size+int(n)], rest[size+int(n):]
	}
	return quota.Who{Purpose: quota.Purpose(words[0]), Region: words[1], Client: words[2], Method: rest}, nil
}
