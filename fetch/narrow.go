package fetch

// How many calls one pass may spend on finding the ids that make a call fail.
const (
	// narrowBlind is the limit while no part has succeeded: 1 whole, 2 halves and 4 quarters. If all of them fail, no
	// id is to blame.
	narrowBlind = 7
	// narrowMost is the limit otherwise: enough for two or three bad ids among 50.
	narrowMost = 32
)

// narrowing finds the ids that make a call fail every time: it splits the call into halves, and splits each half that
// fails, until one id fails alone. The other ids succeed in their halves.
type narrowing struct {
	groups [][]string // to ask, the largest first
	calls  int        // since the first failure
	worked bool       // some calls succeeded
}

func (n *narrowing) active() bool { return len(n.groups) > 0 }

func (n *narrowing) succeeded() {
	if n.active() {
		n.groups = n.groups[1:]
		n.calls++
		n.worked = true
	}
}

// failed records that the call for ids failed; rejected says that the upstream refused the call and did not break down.
// goesOn is false if no id is to blame, or if too many are. giveUp is the id to blame, once one id failed alone.
func (n *narrowing) failed(ids []string, rejected bool) (giveUp string, goesOn bool) {
	if n.active() {
		n.groups = n.groups[1:]
	} else {
		n.calls, n.worked = 0, false
	}
	n.calls++
	if len(ids) == 1 && (n.worked || rejected && n.calls == 1) {
		return ids[0], true
	}
	if len(ids) == 1 || !n.worked && n.calls >= narrowBlind || n.calls >= narrowMost {
		n.groups = nil
		return "", false
	}
	half := len(ids) / 2
	n.groups = append(n.groups, ids[:half], ids[half:])
	return "", true
}
