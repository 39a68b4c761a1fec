package storetest

import (
	"testing"
	"time"

	"github.com/trendvidstream/ingest/store"
)

func TestStore(t *testing.T) { run(t, openFile, 1) }

// run runs the suite: each test on a store of its own. With every above 1 it runs a sample, one test of that many, the
// first among them.
func run(t *testing.T, open Open, every int) {
	for i, test := range tests {
		if i%every > 0 {
			continue
		}
		t.Run(test.name, func(t *testing.T) { test.run(t, open) })
	}
}

// openFile opens the SQLite store of a directory.
func openFile(t testing.TB, dir string, now func() time.Time) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), dir, store.Options{Upstream: Upstream, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestSearchQuality(t *testing.T) { searchQuality(t, openFile, 20, 1) }

func TestLongSearchQuality(t *testing.T) { searchQuality(t, openFile, 81, 6) }

// searchQuality judges search results in the given number of days of the recorded charts, for the given number of
// videos of a region by each kind of query.
func searchQuality(t *testing.T, open Open, days, each int) {
	Alone(t)
	r := Record(t, open, "2026-02-28", days)
	t.Run("KnownItem", func(t *testing.T) { r.knownItem(t, each) })
	t.Run("OrderByViewsIsTrueOverAllThatMatches", func(t *testing.T) { r.orderByViews(t, 10*each) })
	t.Run("NaturalQueriesFindWhatIsWatched", r.naturalQueries)
}

var tests = []struct {
	name string
	run  func(t *testing.T, open Open)
}{
	{"AloneRunsInOneProcess", testAloneRunsInOneProcess},
	{"ANewDueSlotSupersedesOlderOnes", testANewDueSlotSupersedesOlderOnes},
	{"ASlotReleasedTooLateIsSuperseded", testASlotReleasedTooLateIsSuperseded},
	{"TwoSlotsOfASeriesNeverRunAtOnce", testTwoSlotsOfASeriesNeverRunAtOnce},
	{"ADueSlotThatComesTooLateEndsAsItIsAdded", testADueSlotThatComesTooLateEndsAsItIsAdded},
	{"AStoppedSlotKeepsItsReasonUntilItIsClaimedAgain", testAStoppedSlotKeepsItsReasonUntilItIsClaimedAgain},
	{"NewestIsTheLatestDueTimeInAnyState", testNewestIsTheLatestDueTimeInAnyState},
	{"LastIsTheNewestDoneSlotAndTheNewestOutcome", testLastIsTheNewestDoneSlotAndTheNewestOutcome},
	{"TheLeastFreshSeriesIsClaimedFirst", testTheLeastFreshSeriesIsClaimedFirst},
	{"ClaimHandsOutWhatIsWantedOnly", testClaimHandsOutWhatIsWantedOnly},
	{"AStoppedSlotIsClaimedAgainUntilANewerOneExists", testAStoppedSlotIsClaimedAgainUntilANewerOneExists},
	{"ASlotGivenBackWaitsForItsRetryAnHourAtMost", testASlotGivenBackWaitsForItsRetryAnHourAtMost},
	{"ClaimableEqualsRepeatedClaims", testClaimableEqualsRepeatedClaims},
	{"OnlyTheLastClaimMayWrite", testOnlyTheLastClaimMayWrite},
	{"EachSlotIsClaimedOnceHoweverManyAsk", testEachSlotIsClaimedOnceHoweverManyAsk},
	{"ListSlotsFilters", testListSlotsFilters},
	{"RanksGoOnOverThePagesAndAVideoHasOne", testRanksGoOnOverThePagesAndAVideoHasOne},
	{"Page1ClearsAnEarlierAttempt", testPage1ClearsAnEarlierAttempt},
	{"TheSlotIsWrittenWithThePage", testTheSlotIsWrittenWithThePage},
	{"AChartIsTheNewestCompleteOne", testAChartIsTheNewestCompleteOne},
	{"AChartInTheFutureIsNotShown", testAChartInTheFutureIsNotShown},
	{"HistoryKeepsTheCountsOfItsTime", testHistoryKeepsTheCountsOfItsTime},
	{"OfSeveralChartsOfARegionOneIsMeant", testOfSeveralChartsOfARegionOneIsMeant},
	{"OnlyCompleteChartsAreKeptToChooseFrom", testOnlyCompleteChartsAreKeptToChooseFrom},
	{"ACourseIsAVideosWayThroughOneChart", testACourseIsAVideosWayThroughOneChart},
	{"AHistoryIsAVideosPath", testAHistoryIsAVideosPath},
	{"AnIDIsLookedUpOnceHoweverOftenItIsFound", testAnIDIsLookedUpOnceHoweverOftenItIsFound},
	{"WhatWasFetchedSinceIsNotLookedUp", testWhatWasFetchedSinceIsNotLookedUp},
	{"HalvesAreAddedWithThePageThatWasTooMany", testHalvesAreAddedWithThePageThatWasTooMany},
	{"UploadsOfAllChannelsAreLookedUpTogether", testUploadsOfAllChannelsAreLookedUpTogether},
	{"TheCountsOfAWatchListAreKept", testTheCountsOfAWatchListAreKept},
	{"AnotherRunsPieceIsFenced", testAnotherRunsPieceIsFenced},
	{"ACancelledBackfillEndsWithThePageInFlight", testACancelledBackfillEndsWithThePageInFlight},
	{"WhatFailedIsTriedAgainWhenAPersonSaysSo", testWhatFailedIsTriedAgainWhenAPersonSaysSo},
	{"ABackfillIsKeptAsItWasPlanned", testABackfillIsKeptAsItWasPlanned},
	{"TheSameBackfillIsAddedOnceWhileItIsOpen", testTheSameBackfillIsAddedOnceWhileItIsOpen},
	{"AnErrorAmongThePiecesAddsNothing", testAnErrorAmongThePiecesAddsNothing},
	{"PiecesComeInTheirOrder", testPiecesComeInTheirOrder},
	{"TheScheduleNeverSeesAPiece", testTheScheduleNeverSeesAPiece},
	{"APieceOfADeadRunCountsAsDue", testAPieceOfADeadRunCountsAsDue},
	{"TheOldestFetchIsCountedFirst", testTheOldestFetchIsCountedFirst},
	{"RefreshesAreCountedByDay", testRefreshesAreCountedByDay},
	{"VideosSeenLatelyAndFetchedLongAgoAreRefreshed", testVideosSeenLatelyAndFetchedLongAgoAreRefreshed},
	{"ABackfillSaysWhetherItsVideosAreRefreshed", testABackfillSaysWhetherItsVideosAreRefreshed},
	{"SaveVideosRenewsWhatCameBackAndDeletesOnlyTheSecondTime",
		testSaveVideosRenewsWhatCameBackAndDeletesOnlyTheSecondTime},
	{"AnAnswerThatLacksMuchProvesNothing", testAnAnswerThatLacksMuchProvesNothing},
	{"AShortChartIsStoredButNotShown", testAShortChartIsStoredButNotShown},
	{"AChartTellsWhatHasChanged", testAChartTellsWhatHasChanged},
	{"WhatWasRolledBackIsNotTold", testWhatWasRolledBackIsNotTold},
	{"AHookIsToldInOrderByOneProcessAtATime", testAHookIsToldInOrderByOneProcessAtATime},
	{"EventsAreBounded", testEventsAreBounded},
	{"ABackfillTellsItsEndOnce", testABackfillTellsItsEndOnce},
	{"AWatchedChannelTellsEachUploadOnce", testAWatchedChannelTellsEachUploadOnce},
	{"ASituationIsToldWhenItBeginsAndEnds", testASituationIsToldWhenItBeginsAndEnds},
	{"OldSlotsAreDeletedExceptThoseStillNeeded", testOldSlotsAreDeletedExceptThoseStillNeeded},
	{"SearchMeansWhatIsTyped", testSearchMeansWhatIsTyped},
	{"FiltersAndOrders", testFiltersAndOrders},
	{"ACappedResultSaysSo", testACappedResultSaysSo},
	{"AFewMissesMayBeChance", testAFewMissesMayBeChance},
	{"HostileQueriesAreAnsweredSoon", testHostileQueriesAreAnsweredSoon},
	{"PagesOfAResultTogetherAreTheWhole", testPagesOfAResultTogetherAreTheWhole},
	{"TheIndexFollowsNames", testTheIndexFollowsNames},
	{"ADescriptionIsFoundShownAndDeletedWithItsVideo", testADescriptionIsFoundShownAndDeletedWithItsVideo},
	{"NothingIsKeptBeyondTwentyNineDays", testNothingIsKeptBeyondTwentyNineDays},
	{"PagesAreAtomic", testPagesAreAtomic},
	{"HostileTextHurtsNoPage", testHostileTextHurtsNoPage},
}
