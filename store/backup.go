package store

import (
	"context"
	"fmt"
	"path/filepath"
)

// Backup copies the store into a new file, of mode 0600, as of one moment, while others read and write it.
// A file that is there is an fs.ErrExist and is left alone. The copy has its name only when it is whole,
// found sound, and on the disk; of a failure nothing remains. Until then it is FILE.part- and a number: what a
// process that was killed has left of that, the next backup into the same file removes.
func (s *Store) Backup(ctx context.Context, file string) (Copy, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return Copy{}, fmt.Errorf("back up into %q: %w", file, err)
	}
	return copying{from: s.database, to: file, part: filepath.Base(file) + ".part-"}.run(ctx)
}
