package youtubesim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/internal/standin"
)

const (
	creatorBacklog = 60 // videos that a creator has when the stand-in starts
	creatorDays    = 60 // creators upload for so many days after the start
)

// creators is a catalogue of the channels @creator0, @creator1 and so on, besides the charts of another catalogue. Each
// had uploaded a video every seven hours before the start, and from then on uploads as many a day as the options say,
// at random times.
type creators struct {
	catalogue
	seed uint64

	mu     sync.Mutex
	all    []*creator
	byID   map[string]*video
	hidden map[*channel]bool
}

type creator struct {
	channel *channel
	videos  []*video // newest first, also those still to come
}

// Upload is a video of a creator, and when it appears.
type Upload struct {
	ID string
	At time.Time
}

func newCreators(charts catalogue, seed uint64, perDay []int, start time.Time) *creators {
	c := &creators{catalogue: charts, seed: seed, byID: map[string]*video{}, hidden: map[*channel]bool{}}
	for i, uploads := range perDay {
		handle := fmt.Sprintf("creator%d", i)
		one := &creator{channel: &channel{id: channelID(standin.Hash(seed, standin.HashText(handle))),
			title: "Creator " + handle[len("creator"):], handle: handle, subscribers: 1000}}
		c.all = append(c.all, one)
		for n := range creatorBacklog {
			c.add(one, start.Add(-time.Duration(n+1)*7*time.Hour))
		}
		for n := range uploads * creatorDays {
			at := start.Add(time.Duration(n/uploads) * day)
			c.add(one,
				at.Add(time.Duration(standin.Hash(seed, standin.HashText(handle), uint64(n))%uint64(day/time.Second))*time.Second))
		}
	}
	return c
}

// add adds a video that appears at a time.
func (c *creators) add(one *creator, at time.Time) {
	key := standin.Hash(c.seed, standin.HashText(one.channel.id), uint64(len(one.videos)))
	v := &video{
		id: idText(key), channel: one.channel, title: fmt.Sprintf("%s uploads %d", one.channel.title, len(one.videos)),
		language: "en", audio: "en", category: "22",
		published: at.UTC().Truncate(time.Second), duration: time.Minute, live: "none", definition: "hd",
		grows: true, final: finalCounts(&dice{key: key}),
	}
	v.index()
	c.byID[v.id] = v
	one.videos = append(one.videos, v)
	slices.SortStableFunc(one.videos, func(a, b *video) int { return b.published.Compare(a.published) })
}

func (c *creators) videos(at time.Time) (all []*video) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.all {
		if !c.hidden[one.channel] {
			all = append(all, one.videos[slices.IndexFunc(one.videos, func(v *video) bool {
				return !v.published.After(at)
			}):]...)
		}
	}
	slices.SortStableFunc(all, func(a, b *video) int { return cmp.Compare(b.published.Unix(), a.published.Unix()) })
	return all
}

func (c *creators) video(id string, at time.Time) *video {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch v, ok := c.byID[id]; {
	case !ok:
		return c.catalogue.video(id, at)
	case c.hidden[v.channel] || v.published.After(at):
		return nil
	default:
		return v
	}
}

// creator returns the creator with a handle; it panics if there is none.
func (s *Server) creator(handle string) (*creators, *creator) {
	c, ok := s.cat.(*creators)
	if ok {
		for _, one := range c.all {
			if strings.EqualFold(one.channel.handle, strings.TrimPrefix(handle, "@")) {
				return c, one
			}
		}
	}
	panic("youtubesim: no creator is called " + handle)
}

// Hide hides a creator's channel with all its videos, as its deletion does, or shows it again.
func (s *Server) Hide(handle string, hidden bool) {
	c, one := s.creator(handle)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hidden[one.channel] = hidden
}

// Rename gives a creator's channel another handle and title.
func (s *Server) Rename(handle, to string) {
	c, one := s.creator(handle)
	c.mu.Lock()
	defer c.mu.Unlock()
	one.channel.handle, one.channel.title = to, "The new "+to
}

// Burst lets a creator upload the given number of videos now, a second apart.
func (s *Server) Burst(handle string, videos int) {
	c, one := s.creator(handle)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range videos {
		c.add(one, s.opt.Now().Add(-time.Duration(i)*time.Second))
	}
}

// Uploads returns the videos that a creator has uploaded by now, newest first, and the channel's id.
func (s *Server) Uploads(handle string) (uploads []Upload, channel string) {
	c, one := s.creator(handle)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, v := range one.videos {
		if !v.published.After(s.opt.Now()) {
			uploads = append(uploads, Upload{v.id, v.published})
		}
	}
	return uploads, one.channel.id
}
