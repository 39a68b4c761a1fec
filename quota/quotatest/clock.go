package quotatest

import (
	"sync"
	"time"
)

// Clock is a ledger's clock that the suite moves. It stands still between moves.
type Clock struct {
	mu       sync.Mutex
	now      time.Time
	watchers []func(time.Time)
}

// NewClock returns a clock that stands at now.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now returns the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set moves the clock, backwards too.
func (c *Clock) Set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
	for _, w := range c.watchers {
		w(now)
	}
}

// Advance moves the clock by d and returns the new time.
func (c *Clock) Advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for _, w := range c.watchers {
		w(c.now)
	}
	return c.now
}

// Watch calls w with the time now and during each move, for a ledger whose own clock must be set. w must not use this
// clock.
func (c *Clock) Watch(w func(now time.Time)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watchers = append(c.watchers, w)
	w(c.now)
}
