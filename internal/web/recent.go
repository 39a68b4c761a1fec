package web

import (
	"sync"
	"time"
)

// recent keeps the last result, so that readers, however many, cause few reads.
type recent[T any] struct {
	mu    sync.Mutex
	value T
	at    time.Time // zero: never read
}

// get returns a result of the last d, or reads one. A result with an error is returned and not kept.
func (r *recent[T]) get(d time.Duration, read func() (T, error)) (T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.at.IsZero() && time.Since(r.at) < d {
		return r.value, nil
	}
	value, err := read()
	if err == nil {
		r.value, r.at = value, time.Now()
	}
	return value, err
}

// last returns the result that get has kept, if that is of the last d.
func (r *recent[T]) last(d time.Duration) (value T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.at.IsZero() && time.Since(r.at) < d {
		return r.value
	}
	return value
}
