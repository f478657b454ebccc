// An agent on the official JavaScript SDK for the tests beside. What it does, its cards and
// its orders are those of agent_1_3.py, where they are written down.
//
//     node agent_1_3.mjs FOLDER       FOLDER has the SDK and Express in its node_modules

import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { join, resolve as absolute } from "node:path";
import { createInterface } from "node:readline";

// An import would look beside this file; the SDK is installed elsewhere.
const load = createRequire(join(absolute(process.argv[2]), "index.js"));
const sdk = load("@a2a-js/sdk");
const { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } = load("@a2a-js/sdk/server");
const { agentCardHandler, jsonRpcHandler } = load("@a2a-js/sdk/server/express");
const express = load("express");

const SECRET = "s3cret";
const SCHEMES = {
    open: null,
    bearer: { httpAuthSecurityScheme: { scheme: "bearer" } },
    key: { apiKeySecurityScheme: { name: "X-Key", location: "header" } },
};
const HEADERS = { bearer: ["authorization", `Bearer ${SECRET}`], key: ["x-key", SECRET] };

// Tells the events of one task.
class Telling {
    constructor(bus, taskId, contextId) {
        this.bus = bus;
        this.ids = { taskId, contextId };
    }

    status(state, text = "") {
        const { taskId, contextId } = this.ids;
        const role = "ROLE_AGENT";
        const said = { messageId: randomUUID(), role, taskId, contextId, parts: [{ text }] };
        const status = { state: `TASK_STATE_${state}`, ...(text && { message: said }) };
        const event = sdk.TaskStatusUpdateEvent.fromJSON({ ...this.ids, status });
        this.bus.publish(AgentEvent.statusUpdate(event));
    }

    artifact(text, more = {}) {
        const artifact = { artifactId: "made", parts: [{ text }] };
        const event = sdk.TaskArtifactUpdateEvent.fromJSON({ ...this.ids, artifact, ...more });
        this.bus.publish(AgentEvent.artifactUpdate(event));
    }

    complete(text) {
        this.artifact(text);
        this.status("COMPLETED");
    }
}

class Scripted {
    #waiting = new Map();
    #contexts = new Map();

    goOn() {
        for (const resolve of this.#waiting.values()) resolve(true);
        this.#waiting.clear();
        return null;
    }

    async execute({ taskId, contextId, task, userMessage }, bus) {
        const told = sdk.Message.toJSON(userMessage).parts.map(({ text }) => text).join("");
        const [word, ...rest] = told.split(" ");
        const text = rest.join(" ");
        const telling = new Telling(bus, taskId, contextId);
        if (task) {
            bus.publish(AgentEvent.task(task));
            telling.status("WORKING");
            telling.complete(`You said: ${told}`);
        } else if (word === "message") {
            const message = { messageId: randomUUID(), contextId, role: "ROLE_AGENT" };
            const whole = sdk.Message.fromJSON({ ...message, parts: [{ text }] });
            bus.publish(AgentEvent.message(whole));
        } else {
            this.#contexts.set(taskId, contextId);
            const status = { state: "TASK_STATE_SUBMITTED" };
            bus.publish(AgentEvent.task(sdk.Task.fromJSON({ id: taskId, contextId, status })));
            telling.status("WORKING");
            await this[word](telling, text);
        }
        bus.finished();
    }

    async cancelTask(taskId, bus) {
        new Telling(bus, taskId, this.#contexts.get(taskId)).status("CANCELED");
        this.#waiting.get(taskId)?.(false);
        this.#waiting.delete(taskId);
    }

    complete(telling, text) {
        telling.complete(text);
    }

    pieces(telling, text) {
        text.split(" ").forEach((piece, at) => telling.artifact(piece, { append: at > 0 }));
        telling.status("COMPLETED");
    }

    fail(telling, text) {
        telling.status("FAILED", text);
    }

    reject(telling, text) {
        telling.status("REJECTED", text);
    }

    ask(telling, text) {
        telling.status("INPUT_REQUIRED", text);
    }

    "sign-in"(telling) {
        telling.status("AUTH_REQUIRED");
    }

    async wait(telling) {
        const { taskId } = telling.ids;
        const going = new Promise((resolve) => this.#waiting.set(taskId, resolve));
        telling.status("WORKING", "waiting");
        if (await going) telling.complete("It went on.");
    }
}

function cardOf(name, origin) {
    const secured = SCHEMES[name] && {
        securitySchemes: { [name]: SCHEMES[name] },
        securityRequirements: [{ schemes: { [name]: { list: [] } } }],
    };
    return sdk.AgentCard.fromJSON({
        name: `Scripted, ${name}`,
        description: "Does what the task says.",
        version: "1",
        capabilities: { streaming: true },
        defaultInputModes: ["text/plain"],
        defaultOutputModes: ["text/plain"],
        skills: [{ id: "any", name: "Any", description: "Any task.", tags: ["x"] }],
        supportedInterfaces: [
            { url: `${origin}/${name}/rpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
        ],
        ...secured,
    });
}

// The SDK keeps each user's tasks apart; who a user is, is the application's work.
const userBuilder = async ({ user }) => ({ isAuthenticated: !!user, userName: user ?? "" });

const executor = new Scripted();
const app = express();
let requests = [];

function admit(name) {
    return (request, response, next) => {
        const [header, value] = HEADERS[name] ?? [];
        if (header && request.headers[header] !== value)
            return response.status(401).set("WWW-Authenticate", "Bearer").send("Who are you?");
        request.user = header && name;
        next();
    };
}

function record({ body }, response, next) {
    requests.push({ method: body.method, params: body.params });
    next();
}

function serve(name, origin) {
    const agentCard = cardOf(name, origin);
    const requestHandler = new DefaultRequestHandler(agentCard, new InMemoryTaskStore(), executor);
    const agentCardProvider = requestHandler;
    app.use(`/${name}/.well-known/agent-card.json`, agentCardHandler({ agentCardProvider }));
    const rpc = jsonRpcHandler({ requestHandler, userBuilder });
    app.use(`/${name}/rpc`, admit(name), express.json(), record, rpc);
}

function tell(what) {
    process.stdout.write(JSON.stringify(what) + "\n");
}

const orders = {
    go_on: () => executor.goOn(),
    requests: () => requests.splice(0),
};

const server = app.listen(0, "127.0.0.1", async () => {
    const { port } = server.address();
    for (const name of Object.keys(SCHEMES)) serve(name, `http://127.0.0.1:${port}`);
    tell({ port });
    for await (const line of createInterface({ input: process.stdin }))
        tell({ result: orders[JSON.parse(line).do]() });
    server.closeAllConnections();
    server.close();
});
