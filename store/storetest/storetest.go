// Package storetest is the test suite of every store: slots and their fences, pages, charts, history, retention,
// backfills, searches. A database that can hold a store runs it with Run.
package storetest

import (
	"testing"
)

// Run runs the suite: each test on a store of its own. With every above 1 it runs a sample, one test of that many, the
// first among them.
func Run(t *testing.T, open Open, every int) {
	for i, test := range tests {
		if i%every > 0 {
			continue
		}
		t.Run(test.name, func(t *testing.T) { test.run(t, open) })
	}
}

// Sample says how many days of the recorded charts are searched, for how many videos of a region by each kind of
// query.
type Sample struct{ Days, Each int }

// SearchQuality judges search results in a sample of the recorded charts.
func SearchQuality(t *testing.T, open Open, of Sample) {
	Alone(t)
	r := Record(t, open, "2026-02-28", of.Days)
	t.Run("KnownItem", func(t *testing.T) { r.knownItem(t, of.Each) })
	t.Run("OrderByViewsIsTrueOverAllThatMatches", func(t *testing.T) { r.orderByViews(t, 10*of.Each) })
	t.Run("NaturalQueriesFindWhatIsWatched", r.naturalQueries)
}

var tests = []struct {
	name string
	run  func(t *testing.T, open Open)
}{
	{"OnlyOneProcessDoesWhatIsDoneAlone", testOnlyOneProcessDoesWhatIsDoneAlone},
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
	{"ClaimableIsWhatClaimsWouldGive", testClaimableIsWhatClaimsWouldGive},
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
	{"WhatWasFetchedLongestAgoIsCountedFirst", testWhatWasFetchedLongestAgoIsCountedFirst},
	{"VideosAreCountedByTheDayOnWhichTheyAreToBeRefreshed", testVideosAreCountedByTheDayOnWhichTheyAreToBeRefreshed},
	{"VideosSeenLatelyAndFetchedLongAgoAreRefreshed", testVideosSeenLatelyAndFetchedLongAgoAreRefreshed},
	{"ABackfillSaysWhetherItsVideosAreRefreshed", testABackfillSaysWhetherItsVideosAreRefreshed},
	{"SaveVideosRenewsWhatCameBackAndDeletesOnlyTheSecondTime",
		testSaveVideosRenewsWhatCameBackAndDeletesOnlyTheSecondTime},
	{"AnAnswerThatLacksMuchProvesNothing", testAnAnswerThatLacksMuchProvesNothing},
	{"AShortChartIsKeptAndIsNoWholeOne", testAShortChartIsKeptAndIsNoWholeOne},
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
	{"AResultSaysThatMoreMatchThanAreLookedAt", testAResultSaysThatMoreMatchThanAreLookedAt},
	{"AFewMissesMayBeChance", testAFewMissesMayBeChance},
	{"HostileQueriesAreAnsweredSoon", testHostileQueriesAreAnsweredSoon},
	{"PagesOfAResultTogetherAreTheWhole", testPagesOfAResultTogetherAreTheWhole},
	{"TheIndexFollowsNames", testTheIndexFollowsNames},
	{"ADescriptionIsFoundShownAndDeletedWithItsVideo", testADescriptionIsFoundShownAndDeletedWithItsVideo},
	{"NothingIsKeptBeyondTwentyNineDays", testNothingIsKeptBeyondTwentyNineDays},
	{"APageIsWholeOrNotThere", testAPageIsWholeOrNotThere},
	{"HostileTextHurtsNoPage", testHostileTextHurtsNoPage},
}
