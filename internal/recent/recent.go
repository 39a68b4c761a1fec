// Package recent keeps answers for a while, so that one asked for twice is made once.
package recent

import (
	"container/list"
	"sync"
	"time"
)

// Answers keeps answers by key until they are stale. While they weigh more than Room, the least recently used one goes.
// A caller that asks for an answer under way waits for it. The zero value is ready, and keeps none.
type Answers[V any] struct {
	Room int // for the sum of all weights

	mu     sync.Mutex
	weight int
	kept   map[string]*list.Element
	order  list.List // of *Answer[V], the one used last in front
	making map[string]*making[V]
}

// Answer is an answer, how long it is kept, and its weight against the limit.
type Answer[V any] struct {
	Is     V
	Weight int
	Until  time.Time // when it is stale; zero: it is only for those who wait for it

	key string
}

type making[V any] struct {
	made   chan struct{} // closed once the answer is made
	answer Answer[V]
}

// Kept returns the kept answer for a key.
func (a *Answers[V]) Kept(key string) (is V, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.find(key)
}

func (a *Answers[V]) find(key string) (is V, ok bool) {
	at, ok := a.kept[key]
	if !ok {
		return is, false
	}
	kept, _ := at.Value.(*Answer[V])
	a.order.MoveToFront(at)
	return kept.Is, time.Now().Before(kept.Until)
}

// Get returns the answer that is kept or being made for a key. If there is none, read makes it, and mine is true. If
// read panics, others who wait get a zero value.
func (a *Answers[V]) Get(key string, read func() Answer[V]) (is V, mine bool) {
	a.mu.Lock()
	if kept, ok := a.find(key); ok {
		a.mu.Unlock()
		return kept, false
	}
	if other, ok := a.making[key]; ok {
		a.mu.Unlock()
		<-other.made
		return other.answer.Is, false
	}
	if a.making == nil {
		a.making = map[string]*making[V]{}
	}
	own := &making[V]{made: make(chan struct{})}
	a.making[key] = own
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		delete(a.making, key)
		a.mu.Unlock()
		close(own.made)
	}()
	own.answer = read()
	a.Put(key, own.answer)
	return own.answer.Is, true
}

// Put keeps an answer in place of any older one.
func (a *Answers[V]) Put(key string, answer Answer[V]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if old, ok := a.kept[key]; ok {
		a.drop(old)
	}
	if answer.Until.IsZero() {
		return
	}
	if a.kept == nil {
		a.kept = map[string]*list.Element{}
	}
	answer.key = key
	a.kept[key] = a.order.PushFront(&answer)
	for a.weight += answer.Weight; a.weight > a.Room; {
		a.drop(a.order.Back())
	}
}

func (a *Answers[V]) drop(at *list.Element) {
	old, _ := a.order.Remove(at).(*Answer[V])
	delete(a.kept, old.key)
	a.weight -= old.Weight
}
