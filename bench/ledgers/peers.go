package main

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/goredisstore.v9"
	"github.com/ulule/limiter/v3"
	store "github.com/ulule/limiter/v3/drivers/store/redis"
)

// limit is a peer's configuration: a number of units within one window.
type limit struct {
	units int64
	per   time.Duration
}

// take asks for cost units; false is a refusal.
type take func(ctx context.Context, account string, cost int64) (bool, error)

// peer is another project's way to enforce a limit, in its plain use.
type peer struct {
	name   string
	module string // the module whose version is shown; "": our own
	open   func(c *redis.Client, l limit) (take, error)
	// usec returns the server's time for one batch: the client's commands, without commands that scripts call.
	usec func(map[string]stat) float64
}

var (
	redisRate = peer{"redis_rate", "github.com/go-redis/redis_rate/v10", openRedisRate, scriptTime}
	throttle  = peer{"throttled", "github.com/throttled/throttled/v2", openThrottled, throttledTime}
	ulule     = peer{"ulule/limiter", "github.com/ulule/limiter/v3", openUlule, scriptTime}
	classic   = peer{"one member per unit, one ZADD", "", openClassic(1000), scriptTime} // a Lua stack is limited
	looped    = peer{"one member per unit, a ZADD each", "", openClassic(1), scriptTime}
)

func scriptTime(s map[string]stat) float64 {
	return s["eval"].usec + s["evalsha"].usec + s["fcall"].usec
}

// throttledTime adds the TIME and GET that come before its script, which has a GET of its own.
func throttledTime(s map[string]stat) float64 {
	return s["eval"].usec + s["setnx"].usec + s["expire"].usec + s["time"].usec +
		s["get"].usec*s["time"].calls/max(s["get"].calls, 1)
}

func openRedisRate(c *redis.Client, l limit) (take, error) {
	r := redis_rate.NewLimiter(c)
	rate := redis_rate.Limit{Rate: int(l.units), Burst: int(l.units), Period: l.per}
	return func(ctx context.Context, account string, cost int64) (bool, error) {
		got, err := r.AllowN(ctx, account, rate, int(cost))
		return err == nil && got.Allowed > 0, err
	}, nil
}

func openThrottled(c *redis.Client, l limit) (take, error) {
	s, err := goredisstore.NewCtx(c, "throttled:")
	if err != nil {
		return nil, err
	}
	r, err := throttled.NewGCRARateLimiterCtx(s, throttled.RateQuota{
		MaxRate: throttled.PerDuration(int(l.units), l.per), MaxBurst: int(l.units) - 1})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, account string, cost int64) (bool, error) {
		limited, _, err := r.RateLimitCtx(ctx, account, int(cost))
		return err == nil && !limited, err
	}, nil
}

func openUlule(c *redis.Client, l limit) (take, error) {
	s, err := store.NewStore(c)
	if err != nil {
		return nil, err
	}
	r := limiter.New(s, limiter.Rate{Period: l.per, Limit: l.units})
	return func(ctx context.Context, account string, cost int64) (bool, error) {
		got, err := r.Increment(ctx, account, cost)
		return err == nil && !got.Reached, err
	}, nil
}

//go:embed classic.lua
var classicSource string

// calls makes the classic peer's members unique.
var calls atomic.Int64

// openClassic adds up to many members per command.
func openClassic(many int) func(*redis.Client, limit) (take, error) {
	script := redis.NewScript(classicSource)
	return func(c *redis.Client, l limit) (take, error) {
		return func(ctx context.Context, account string, cost int64) (bool, error) {
			n, err := script.Run(ctx, c, []string{"classic:" + account},
				l.units, l.per.Microseconds(), cost, strconv.FormatInt(calls.Add(1), 36), many).Int()
			if err != nil {
				return false, fmt.Errorf("one member per unit: %w", err)
			}
			return n == 1, nil
		}, nil
	}
}
