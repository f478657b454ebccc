// Drives the official JavaScript SDK for the tests beside, as client_1_3.py does for the
// Python one: one JSON object a line in, one a line out, in the protocol's JSON.
//
//     node client_1_3.mjs FOLDER       FOLDER has the SDK in its node_modules
//
//     {"do": "resolve", "url": …}                  → {"result": <the card>}
//     {"do": "connect", "name": …, "url": …, "token": …, "version": …, "promises": […]}
//     {"do": "call", "name": …, "method": …, "request": {…}, "timeout": …,
//      "plain": …}     plain: without the members' defaults, as plain JavaScript lets one
//     {"do": "sent"}                               → {"result": <the last request's body>}
//     → {"result": …} or {"error": {"kind": <class>, "message": …, "data": …}}

import { createRequire } from "node:module";
import { join, resolve as absolute } from "node:path";
import { createInterface } from "node:readline";

// An import would look beside this file; the SDK is installed elsewhere.
const load = createRequire(join(absolute(process.argv[2]), "index.js"));
const sdk = load("@a2a-js/sdk");
const { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver, JsonRpcTransportFactory } =
    load("@a2a-js/sdk/client");

const METHODS = {
    send_message: "sendMessage",
    get_task: "getTask",
    list_tasks: "listTasks",
    cancel_task: "cancelTask",
    subscribe: "resubscribeTask",
    create_task_push_notification_config: "createTaskPushNotificationConfig",
    get_extended_agent_card: "getAgentCard",
};
const READERS = {
    send_message: sdk.SendMessageRequest,
    get_task: sdk.GetTaskRequest,
    list_tasks: sdk.ListTasksRequest,
    cancel_task: sdk.CancelTaskRequest,
    subscribe: sdk.SubscribeToTaskRequest,
    create_task_push_notification_config: sdk.TaskPushNotificationConfig,
};
const WRITERS = {
    send_message: { toJSON: (sent) => [written(sent)] },
    get_task: sdk.Task,
    list_tasks: sdk.ListTasksResponse,
    cancel_task: sdk.Task,
    create_task_push_notification_config: sdk.TaskPushNotificationConfig,
    get_extended_agent_card: sdk.AgentCard,
};

const clients = new Map();
let lastBody = null;

function written(sent) {
    return "messageId" in sent
        ? { message: sdk.Message.toJSON(sent) }
        : { task: sdk.Task.toJSON(sent) };
}

const orders = {
    async resolve({ url }) {
        return sdk.AgentCard.toJSON(await new DefaultAgentCardResolver().resolve(url));
    },

    async connect({ name, url, token, version, promises = [] }) {
        const cardResolver = {
            async resolve(...address) {
                const card = await new DefaultAgentCardResolver().resolve(...address);
                // As for a client that does not look at the card.
                for (const capability of promises) card.capabilities[capability] = true;
                return card;
            },
        };
        const withHeaders = (address, request) => {
            const headers = new Headers(request.headers);
            headers.set("Authorization", `Bearer ${token}`);
            if (version) headers.set("A2A-Version", version);
            lastBody = request.body;
            return fetch(address, { ...request, headers });
        };
        const transports = [new JsonRpcTransportFactory({ fetchImpl: withHeaders })];
        const own = { transports, cardResolver };
        const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, own);
        clients.set(name, await new ClientFactory(options).createFromUrl(url));
    },

    async call({ name, method, request, timeout, plain }) {
        const client = clients.get(name);
        const options = { signal: AbortSignal.timeout(timeout * 1000) };
        if (method === "get_extended_agent_card")
            return WRITERS[method].toJSON(await client.getAgentCard(options));
        const value = plain ? request : READERS[method].fromJSON(request);
        const result = client[METHODS[method]](value, options);
        if (result[Symbol.asyncIterator]) return await collect(result);
        return WRITERS[method].toJSON(await result);
    },

    async sent() {
        return lastBody;
    },
};

async function collect(events) {
    const collected = [];
    for await (const event of events) collected.push(sdk.StreamResponse.toJSON(event));
    return collected;
}

async function answer(line) {
    try {
        const { do: name, ...order } = JSON.parse(line);
        return { result: (await orders[name](order)) ?? null };
    } catch (error) {
        const { name, message, data = null } = error;
        return { error: { kind: name, message, data } };
    }
}

for await (const line of createInterface({ input: process.stdin }))
    process.stdout.write(JSON.stringify(await answer(line)) + "\n");
