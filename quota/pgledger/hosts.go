package pgledger

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/trendvidstream/ingest/quota"
)

const maxHosts = 256 // that are listed, the newest

// list enters the host that has synced.
func (d *syncing) list(ctx context.Context) error {
	if d.Host == nil {
		return nil
	}
	kept, err := json.Marshal(d.Host)
	if err != nil || d.Host.ID == "" || len(d.Host.ID) > 64 || len(kept) > 1<<16 {
		return &quotaError{fmt.Errorf("%w: host %q, %d bytes: %w", quota.ErrUnknown, d.Host.ID, len(kept), err)}
	}
	_, err = d.exec(ctx, `INSERT INTO {schema}.hosts (account, id, at, host) VALUES ($1, $2, $3, $4)
		ON CONFLICT (account, id) DO UPDATE SET at = excluded.at, host = excluded.host`, d.account.id, d.Host.ID, d.now, string(kept))
	if err == nil {
		_, err = d.exec(ctx, `DELETE FROM {schema}.hosts WHERE account = $1 AND id IN (
			SELECT id FROM {schema}.hosts WHERE account = $1 ORDER BY at DESC OFFSET $2)`, d.account.id, int64(maxHosts))
	}
	return err
}
