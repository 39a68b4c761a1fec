package youtube_test

import (
	"fmt"
	"testing"

	"github.com/trendvidstream/ingest/fetch"
)

// TestARefusedKeyIsKnownByAnyOfGooglesSentences gives each sentence in the envelope without an ErrorInfo, with the reason
// that says nothing and with none.
func TestARefusedKeyIsKnownByAnyOfGooglesSentences(t *testing.T) {
	for _, says := range []struct {
		status  int
		message string
	}{
		{403, "The request did not specify any Android package name or signing-certificate fingerprint. Please ensure that the client is sending them or use the API Console to update your key restrictions."},
		{403, "The request did not specify any iOS bundle ID. Please ensure that the client is sending it or use the API Console to update your key restrictions."},
		{403, "The request did not specify any referer. Please ensure that the client is sending referer or use the API Console to update your key restrictions."},
		{403, "The Android package name and signing-certificate fingerprint, null and null, do not match the app restrictions configured on your API key. Please use the API Console to update your key restrictions."},
		{403, "There is a per-IP or per-Referer restriction configured on your API key and the request does not match these restrictions."},
		{403, "Requests from this iOS client application <empty> are blocked."},
		{403, "Requests to this API youtube method youtube.api.v3.V3DataVideoService.List are blocked."},
		{403, "The request is missing a valid API key."},
		{403, "Permission denied on resource project example-123."},
		{403, "The API key does not have permission to call this API."},
		{400, "Invalid API key: it is malformed."},
		{400, "API key not found. Please pass a valid API key."},
		{403, "Your API key was reported as leaked. Please use another API key."},
		{403, "Project #000000000000 has been scheduled for deletion."},
		{403, "Permission denied: Consumer 'project_number:000000000000' has been suspended."},
		{403, "The API Key and the authentication credential are from different projects."},
		{403, "Caller does not have required permission to use project example-123. Grant the caller the roles/serviceusage.serviceUsageConsumer role."},
		{403, "Not found or permission denied for service(s): youtube.googleapis.com."},
	} {
		for _, reason := range []string{"forbidden", ""} {
			c, _ := serve(t, respond(says.status, fmt.Sprintf(`{"error":{"code":%d,"message":%q,"errors":[{"reason":%q}]}}`, says.status, says.message, reason)))
			if fe := fails(t.Context(), t, c.Chart("US", "", "")); fe.Verdict != fetch.BadKey {
				t.Errorf("reason %q: %s: %v, want %v", reason, fe.Verdict, fe, fetch.BadKey)
			}
		}
	}
	for _, reason := range []string{"USER_PROJECT_DENIED", "RESOURCE_PROJECT_INVALID", "SERVICE_NOT_VISIBLE", "API_KEY_ANDROID_APP_BLOCKED"} {
		c, _ := serve(t, respond(403, envelope(403, "", reason, "")))
		if fe := fails(t.Context(), t, c.Chart("US", "", "")); fe.Verdict != fetch.BadKey {
			t.Errorf("%s: %s: %v, want %v", reason, fe.Verdict, fe, fetch.BadKey)
		}
	}
}

// A refusal by Google's servers in general, of a rule that no method of the API has, is asked about the whole upstream; a
// refusal of the method's own is not.
func TestAnUnknownRuleOfGooglesServersIsVague(t *testing.T) {
	for reason, vague := range map[string]bool{"SECURITY_POLICY_VIOLATED": true, "LOCATION_POLICY_VIOLATED": true, "playlistItemsNotAccessible": false} {
		c, _ := serve(t, respond(403, envelope(403, "", reason, "")))
		if fe := fails(t.Context(), t, c.Chart("US", "", "")); fe.Verdict != fetch.Rejected || fe.Vague != vague {
			t.Errorf("%s: %s, vague %v: %v, want %v and %v", reason, fe.Verdict, fe.Vague, fe, fetch.Rejected, vague)
		}
	}
}

// A sentence about a video, a channel or a list is not about the key.
func TestARefusalOfAVideoIsNoRefusedKey(t *testing.T) {
	for _, message := range []string{
		"The caller does not have permission",
		"The playlist identified with the request's playlistId parameter cannot be found.",
		"The request cannot access user rating information, because the video's owner has deleted it.",
		"The channel is suspended.",
		"Access to this project of the artist is not allowed in your country.",
		"The request is not properly authorized to access the requested playlist items.",
	} {
		for _, reason := range []string{"videoForbidden", "forbidden", ""} {
			c, _ := serve(t, respond(403, fmt.Sprintf(`{"error":{"code":403,"message":%q,"errors":[{"reason":%q}]}}`, message, reason)))
			if fe := fails(t.Context(), t, c.Chart("US", "", "")); fe.Verdict != fetch.Rejected {
				t.Errorf("%s: %s, want %v", message, fe.Verdict, fetch.Rejected)
			}
		}
	}
}
