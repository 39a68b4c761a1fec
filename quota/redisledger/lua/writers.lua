-- Shared by scripts that handle writers.

-- sweep drops writers not heard of since a time, among the next few fields per new writer, and returns where the next
-- sweep begins. So its work is bounded, and so is the number of leftover writers.
local function sweep(key, cursor, since, new)
	local page = redis.call('HSCAN', key, string.format('%.0f', cursor), 'COUNT', 16 * new)
	local fields = page[2]
	for k = 1, #fields, 2 do
		if string.byte(fields[k]) == 111 and #fields[k + 1] >= WRITER_SIZE then
			local _, _, _, heard = unpack_(WRITER, fields[k + 1])
			if heard <= since then
				redis.call('HDEL', key, fields[k])
			end
		end
	end
	return tonumber(page[1])
end
