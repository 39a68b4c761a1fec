package doctor

import (
	"context"
	"time"
)

// The judgements, without the machine, the server or the upstream that would have to be so.
var (
	LookData           = lookData
	LookFreshness      = lookFreshness
	LookEnvironment    = lookEnvironment
	LookListen         = lookListen
	JudgeHosts         = judgeHosts
	JudgeClockGap      = judgeClockGap
	JudgeUpstreamClock = judgeUpstreamClock
	UserName           = userName
)

func JudgeSpace(free, size int64) Finding { return volume{free: free, size: size}.judgeSpace() }
func JudgeKind(network string) Finding    { return volume{network: network}.judgeKind() }

// Found is a finding that a check may make.
func Found(detail string) Finding { return fine("%s", detail) }

// Look is a check that takes no longer than Within.
type Look struct {
	Name   string
	Look   func(context.Context, *Doctor) Finding
	Within time.Duration
}

// Run runs other checks than there are.
func (d *Doctor) Run(ctx context.Context, looks ...Look) []Finding {
	var checks []check
	for _, l := range looks {
		checks = append(checks, check{l.Name, l.Look, l.Within})
	}
	return d.run(ctx, checks)
}

const Overstayed = overstayed
