// Runs calls of the npm client against a stand-in and prints what it understood, one JSON line a call.
// Arguments: the root URL, and a JSON list of [resource, method, parameters].
import {youtube} from '@googleapis/youtube';

const [rootUrl, calls] = process.argv.slice(2);
const client = youtube({version: 'v3', auth: 'not-a-key', rootUrl});
for (const [resource, method, parameters] of JSON.parse(calls)) {
  try {
    const {status, data} = await client[resource][method](parameters, {retry: false});
    console.log(JSON.stringify({status, data}));
  } catch (e) {
    const {status, data} = e.response ?? {};
    console.log(JSON.stringify({status, data, error: String(e.message)}));
  }
}
