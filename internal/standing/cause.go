package standing

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

// Cause says why a condition is not good, or why a series is not fresh. It is one of the causes of the table Causes.
type Cause string

// The causes.
const (
	LedgerMissing    Cause = "ledger missing"
	LedgerOlderCopy  Cause = "ledger older copy"
	LedgerDamaged    Cause = "ledger damaged"
	LedgerIncomplete Cause = "ledger incomplete"
	LedgerUnreadable Cause = "ledger unreadable"
	LedgerSilent     Cause = "ledger silent"
	ServerFault      Cause = "server fault"

	WrongUsage   Cause = "wrong usage"
	BadConfig    Cause = "bad config"
	NoKey        Cause = "no key"
	OtherStore   Cause = "other store"
	NewerProgram Cause = "newer program"
	ClocksApart  Cause = "clocks apart"
	DiskFull     Cause = "disk full"
	ReadOnly     Cause = "read-only"
	NoRight      Cause = "no right"
	OpenFiles    Cause = "too many open files"

	StoreGone       Cause = "store gone"
	StoreUnreadable Cause = "store unreadable"
	NoWrites        Cause = "no writes"
	WorkersPaused   Cause = "workers pause"

	UpstreamSilent Cause = "upstream silent"
	KeyRefused     Cause = "key refused"
	NotAsked       Cause = "not asked"

	QuotaUsed      Cause = "quota used"
	QuotaShort     Cause = "quota short"
	ProviderSaysNo Cause = "provider says no"
	ClosedByHand   Cause = "closed by hand"
	UseUnknown     Cause = "use unknown"
	Paced          Cause = "paced"

	Overdue     Cause = "overdue"
	NoRun       Cause = "no run"
	FetchFailed Cause = "fetch failed"
	NoChart     Cause = "no chart"
	ChannelGone Cause = "channel gone"
	ChartEmpty  Cause = "chart empty"
	ChartShrunk Cause = "chart shrunk"
	NotBegun    Cause = "not begun"
	HookFails   Cause = "hook fails"
)

// Meanwhile describes the work that goes on while a condition lasts.
type Meanwhile string

// The work that goes on.
const (
	Everything Meanwhile = "all the rest"
	CheapCalls Meanwhile = "cheap calls, from the emergency budget"
	Reads      Meanwhile = "charts and searches"
	Nothing    Meanwhile = "nothing"
)

// Cure is a person's next step: the trouble, the advice and, if there is one, the command.
type Cure struct{ Thing, Advice, Command string }

// Row gives the work that goes on during a cause, and its cure. docs/faq.md has the same table.
type Row struct {
	Cause     Cause
	Is        []error // the errors of this cause, for errors.Is; none: it is no error, or known otherwise
	Exit      int     // the code of a command that such an error ends; 0: of the ledger ExitUnavailable, else ExitError
	Meanwhile Meanwhile
	Cure      Cure
}

// Causes is all causes. If an error has several causes, the first counts, since a call of the upstream may fail for
// the same reason as a file.
var Causes = []Row{
	{UpstreamSilent, []error{ingest.ErrNoAnswer}, ExitUnavailable, Reads,
		Cure{"The upstream gives no usable answer.",
			"Fetching goes on by itself once it does; with one call this says why:", "ingest doctor --online"}},
	{KeyRefused, []error{ingest.ErrKeyRefused}, ExitKey, Reads,
		Cure{"The API key is refused.", "Give another one; with one call this says why:", "ingest doctor --online"}},

	{WrongUsage, nil, ExitUsage, Everything,
		Cure{"The command line is wrong.", "The message says how; this shows all commands:", "ingest --help"}},
	{NoKey, nil, ExitKey, Reads,
		Cure{"There is no usable API key.",
			"Give one with --key-file or INGEST_KEY_FILE; without one there is:", "ingest demo"}},
	{BadConfig, []error{quota.ErrUnknown, quota.ErrNeverFits, syscall.ENOTDIR}, ExitConfig, Nothing,
		Cure{"A setting cannot be used.", "The message says where; this checks all settings:", "ingest config check"}},
	{OtherStore, nil, ExitConfig, Nothing,
		Cure{"The store belongs to another upstream or version.",
			"The message says which; this shows where the data are:", "ingest config check"}},

	{LedgerMissing, []error{quota.ErrMissing}, ExitUnavailable, Reads,
		Cure{"quota.db is missing.", "Put it back, or rebuild it from the store:", "ingest quota rebuild"}},
	{LedgerOlderCopy, []error{quota.ErrOlderCopy}, ExitUnavailable, Reads,
		Cure{"quota.db is an older copy.",
			"Put the newest back, or move it aside and count again the calls that the store knows:",
			"ingest quota rebuild --replace"}},
	{LedgerDamaged, []error{quota.ErrCorrupt}, ExitUnavailable, Reads,
		Cure{"quota.db is damaged.",
			"Move it aside and count again the calls that the store knows:", "ingest quota rebuild --replace"}},
	{LedgerIncomplete, []error{quota.ErrIncomplete}, ExitUnavailable, Reads,
		Cure{"quota.db lacks calls that the store knows.",
			"Put it back, or rebuild it from the store:", "ingest quota rebuild"}},
	{NewerProgram, []error{quota.ErrNewer}, ExitConfig, Reads,
		Cure{"A newer ingest wrote the data.", "Install that version; this says which one runs:", "ingest version"}},
	{ClocksApart, []error{ingest.ErrClock}, ExitUnavailable, Reads,
		Cure{"Two clocks are apart.",
			"Set this machine's clock, or the other one; then remove the slots that came too early:", "ingest doctor --repair"}},
	{DiskFull, []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}, 0, Reads,
		Cure{"The disk is full.", "Make room; this says where:", "ingest doctor"}},
	{ReadOnly, []error{syscall.EROFS}, ExitConfig, Reads,
		Cure{"The data directory is read-only.", "This says which file:", "ingest doctor"}},
	{OpenFiles, []error{syscall.EMFILE, syscall.ENFILE}, 0, Reads,
		Cure{"The process has too many open files.", "Raise its limit (LimitNOFILE), then look again:", "ingest doctor"}},
	{NoRight, []error{fs.ErrPermission}, ExitConfig, Reads,
		Cure{"A file cannot be read or written.", "This names the setting and its owner:", "ingest doctor"}},
	{NoWrites, []error{ingest.ErrNoWrites}, 0, Reads,
		Cure{"The database takes no writes.", "Name the primary in the URL; this says which one it is:", "ingest doctor"}},
	{ServerFault, nil, ExitUnavailable, CheapCalls,
		Cure{"The ledger's server is at fault.", "The message says how; this checks it:", "ingest doctor"}},
	{LedgerSilent, []error{quota.ErrUnavailable}, ExitUnavailable, CheapCalls,
		Cure{"The ledger does not answer.", "Fetching goes on by itself once it does; this says why:", "ingest doctor"}},
	{LedgerUnreadable, nil, 0, Reads, Cure{"The quota ledger cannot be read.", "This says why:", "ingest doctor"}},

	{StoreGone, []error{ingest.ErrStoreGone}, ExitConfig, Nothing,
		Cure{"The store is gone.", "Restore the newest backup, or begin a new store:", "ingest run --accept-new-store"}},
	{StoreUnreadable, []error{ingest.ErrStoreSilent}, ExitUnavailable, Nothing,
		Cure{"The store cannot be read.", "This says why; with --repair it mends the file where it can:", "ingest doctor"}},
	{WorkersPaused, nil, 0, Reads,
		Cure{"Nothing is fetched now.", "Workers try again at every heartbeat; this says why they pause:", "ingest doctor"}},

	{NotAsked, nil, 0, Everything, Cure{"The upstream was not asked.", "Nothing to do: the next run asks it.", ""}},

	{QuotaUsed, nil, 0, Reads,
		Cure{"The quota is used up.",
			"Nothing to do: fetching goes on at the time shown. This says who spent it:", "ingest quota"}},
	{QuotaShort, nil, 0, Everything,
		Cure{"The quota does not last.", "This says what else it would pay for:", "ingest quota advise"}},
	{ProviderSaysNo, nil, 0, Reads,
		Cure{"The provider says that the quota is used up.",
			"Nothing to do: one call asks again at the time shown. This says who spent it:", "ingest quota --all"}},
	{ClosedByHand, nil, 0, Reads,
		Cure{"A person has closed a pool.",
			"It opens by itself at the provider's midnight, or with:", "ingest quota drain POOL --lift"}},
	{UseUnknown, nil, 0, Reads,
		Cure{"A pool is closed because its use is not known.",
			"It opens when none of that use can count, or with the figure that the provider's console shows for today:",
			"ingest quota post POOL N"}},
	{Paced, nil, 0, Everything,
		Cure{"Charts come less often than configured.",
			"Nothing to do: the quota pays for no more. This shows a schedule that it would pay for:", "ingest quota advise"}},

	{Overdue, nil, 0, Everything,
		Cure{"A slot has waited for more than ten minutes.", "This says for what:", "ingest slots --next 8"}},
	{NoRun, nil, 0, Reads,
		Cure{"Nothing has run.", "See that cron, a timer or ingest serve runs; then this shows it:", "ingest slots"}},
	{FetchFailed, nil, 0, Everything,
		Cure{"The newest fetch failed.",
			"It is tried again at its next slot; this says why:", "ingest slots --outcome failed"}},
	{NoChart, nil, 0, Everything,
		Cure{"The upstream has no such chart.",
			"Nothing to do: it is asked once a day. Or take the region out of the config.", ""}},
	{ChannelGone, nil, 0, Everything,
		Cure{"A channel was deleted or hidden.",
			"Nothing to do: each slot asks again, for one unit. Or take the channel out of the config.", ""}},
	{ChartEmpty, nil, 0, Everything,
		Cure{"A chart came empty.", "Nothing to do: the newest whole one is shown, and the next slot asks again.", ""}},
	{ChartShrunk, nil, 0, Everything,
		Cure{"A chart came with a part of its usual videos.",
			"Nothing to do: the newest whole one is shown, and the next slot asks again.", ""}},
	{NotBegun, nil, 0, Everything,
		Cure{"Nothing was fetched yet.", "The first fetch comes at the next slot, or with:", "ingest run"}},
	{HookFails, nil, 0, Everything,
		Cure{"A hook fails.", "It is tried again, less and less often; this says why:", "ingest doctor"}},
}

// Remedy is an error that knows what is wrong and what to do: of a server, a disk, a store.
type Remedy interface {
	error
	Remedy() (wrong, advice string)
}

// Row returns the row of a cause in the table; the zero Row of "".
func (c Cause) Row() Row {
	i := slices.IndexFunc(Causes, func(r Row) bool { return r.Cause == c })
	if i < 0 {
		return Row{}
	}
	return Causes[i]
}

// caused is an error of a package that this one does not import, and names its cause. Its exit code wins, even if it
// wraps an error of another cause.
type caused interface {
	error
	Cause() string
}

// CauseOf returns the cause of an error, or other if the table does not have it.
func CauseOf(err error, other Cause) Cause {
	_, clocks := errors.AsType[quota.ClockError](err)
	_, server := errors.AsType[Remedy](err)
	for _, row := range Causes {
		is := slices.ContainsFunc(row.Is, func(target error) bool { return errors.Is(err, target) })
		if is || row.Cause == ClocksApart && clocks || row.Cause == ServerFault &&
			server && errors.Is(err, quota.ErrUnavailable) {
			return row.Cause
		}
	}
	if own, ok := errors.AsType[caused](err); ok {
		return Cause(own.Cause())
	}
	return other
}

// Cure is a person's next step about the condition: the advice of its error or, if there is none, of its cause.
func (c Condition) Cure() Cure {
	if known, ok := errors.AsType[Remedy](c.Err); ok {
		wrong, advice := known.Remedy()
		return Cure{Thing: sentence(wrong), Advice: sentence(advice)}
	}
	return c.Cause.Row().Cure
}

func sentence(clause string) string {
	if clause == "" {
		return ""
	}
	return strings.ToUpper(clause[:1]) + strings.TrimSuffix(clause[1:], ".") + "."
}
