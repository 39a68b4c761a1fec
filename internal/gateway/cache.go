package gateway

import (
	"container/list"
	"sync"
	"time"
)

const (
	cacheBytes = 64 << 20
	entryBytes = 1 << 10 // what an entry takes beside its key and its body, about
)

// cache keeps answers until they are stale or there are more than cacheBytes of them: then the one that was used longest
// ago goes. The zero value is ready.
type cache struct {
	mu    sync.Mutex
	size  int
	byKey map[string]*list.Element
	order list.List // of entries, the one used last in front
}

type entry struct {
	key    string
	until  time.Time
	answer *answer
}

func (e *entry) bytes() int { return 2*len(e.key) + len(e.answer.body) + entryBytes }

// get returns an answer that is not stale; nil if there is none.
func (c *cache) get(key string, now time.Time) *answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.byKey[key]
	if !ok {
		return nil
	}
	e, _ := at.Value.(*entry)
	if !now.Before(e.until) {
		c.remove(at)
		return nil
	}
	c.order.MoveToFront(at)
	return e.answer
}

func (c *cache) put(key string, a *answer, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.byKey[key]; ok {
		c.remove(old)
	}
	if c.byKey == nil {
		c.byKey = map[string]*list.Element{}
	}
	e := &entry{key, until, a}
	c.byKey[key] = c.order.PushFront(e)
	for c.size += e.bytes(); c.size > cacheBytes; {
		c.remove(c.order.Back())
	}
}

func (c *cache) remove(at *list.Element) {
	e, _ := c.order.Remove(at).(*entry)
	delete(c.byKey, e.key)
	c.size -= e.bytes()
}
