// Package sharedledger makes one exact ledger for several hosts out of a Remote, which may forget and lose replies,
// and a Journal in each host's data directory. It charges every spend once and loses none:
//
//   - Every operation has a number and is written to the journal, durably, before the remote is asked. One
//     whose reply was lost is asked again under its number.
//   - Any sign that the remote lost something begins a new generation of its memory. Each data directory then syncs
//     the journal rows that the remote lacks, and raises each pool to the use that it last saw. An amount without a
//     known row stands for hosts that are away, and shrinks when their rows arrive.
//   - A new generation decides nothing until all hosts have synced, or Ledger.SyncWait has passed.
//   - A remote that did not answer is not asked again for a while, by any process of the data directory. Calls made
//     without it are synced before anything else is asked.
//
// generation.go has the life of a generation, as one data directory sees it.
//
// While the remote cannot answer, every method returns quota.ErrUnavailable. An operation without a recorded answer
// counts as spent once its process has been silent for 5 s or a new generation begins, even if its call was never
// made: that is the safe side, and costs one operation per crash.
//
// A pool is raised at the time of the snapshot, not of the sync, and only rows that a snapshot can have counted are
// netted against it. So no known spend ever counts less than once, and amounts that have left a pool's windows since
// do not hold it back.
package sharedledger
