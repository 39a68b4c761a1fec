package dailymotion

// MapVideos and MapFound are exported to be fuzzed and measured without a server.
var (
	MapVideos = mapVideos
	MapFound  = mapFound
)

// VideoFields are the fields that a call for videos asks for.
const VideoFields = videoFields
