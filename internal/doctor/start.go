package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/pgledger"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// StartBound bounds the time that a start spends on checks that it does not need.
const StartBound = 500 * time.Millisecond

// CheckAtStart refuses a remote ledger that would lose charges, or returns a warning about it. It takes one round
// trip. A server that does not answer, or does not permit the question, is no error here: the next take will show it.
func CheckAtStart(ctx context.Context, remote sharedledger.Remote, name string) (warning string, err error) {
	ctx, cancel := context.WithTimeout(ctx, StartBound)
	defer cancel()
	switch l := remote.(type) {
	case *redisledger.Ledger:
		f, err := l.Glance(ctx)
		switch {
		case err != nil: // degraded mode is for that
		case f.Evicts():
			return "", fmt.Errorf("%w: redis at %s has maxmemory-policy %s and would delete what was spent: CONFIG SET maxmemory-policy noeviction, and in redis.conf",
				quota.ErrClosed, name, f.MaxMemoryPolicy)
		case f.AppendOnly == "no":
			return fmt.Sprintf("redis at %s has no append-only file and forgets what was spent when it restarts: CONFIG SET appendonly yes", name), nil
		}
	case *pgledger.Ledger:
		if f, err := l.Inspect(ctx); err == nil && !f.Durable() {
			return fmt.Sprintf("postgres at %s confirms what is not on disk (fsync %s, synchronous_commit %s) and may forget what was spent: set both on", name, f.Fsync, f.SynchronousCommit), nil
		}
	}
	return "", nil
}
