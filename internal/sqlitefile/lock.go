package sqlitefile

import "errors"

// ErrInUse is returned by LockExclusive for a database that others have open.
var ErrInUse = errors.New("another process has it open")
