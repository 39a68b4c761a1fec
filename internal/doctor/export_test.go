package doctor

import (
	"context"
	"time"
)

// The judgements, without a machine, a server or an upstream in that state.
var (
	LookData           = checkData
	LookFreshness      = given(stand, JudgeFreshness)
	LookEnvironment    = checkEnvironment
	JudgeHosts         = judgeHosts
	JudgeClockGap      = judgeClockGap
	JudgeUpstreamClock = (*Doctor).judgeUpstreamClock
	JudgeAnswers       = judgeAnswers
)

func JudgeSpace(free, size int64) Finding { return volume{free: free, size: size}.judgeSpace() }
func JudgeKind(network string) Finding    { return volume{network: network}.judgeKind() }

// Found returns a finding that a check may make.
func Found(detail string) Finding { return okf("%s", detail) }

// Look is a check that ends within Within.
type Look struct {
	Name   string
	Look   func(context.Context, *Doctor) Finding
	Within time.Duration
}

// Run runs checks other than the real ones.
func (d *Doctor) Run(ctx context.Context, looks ...Look) []Finding {
	var checks []check
	for _, l := range looks {
		checks = append(checks, check{l.Name, l.Look, l.Within})
	}
	return d.run(ctx, checks)
}

var FailedWith = failWith

const Overstayed = overstayed
