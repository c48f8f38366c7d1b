// Search runs in a worker, and browsers start none for pages that are opened from a folder. There an unseen frame does
// its work. (The theme would fetch such a script from the network; it leaves that when one of this name is given.)
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "Search";
      frame.srcdoc = `<script>
        self.importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((done, failed) => {
          const script = document.createElement("script");
          script.src = new URL(url, "${url}");
          script.onload = done;
          script.onerror = failed;
          document.head.append(script);
        })), Promise.resolve());
        self.postMessage = (data) => parent.dispatchEvent(new MessageEvent("fabula-worker", { data }));
      <\/script><script src="${url}"><\/script>`;
      window.addEventListener("fabula-worker", ({ data }) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        this.onmessage?.(event);
      });
      this.ready = new Promise((done) => frame.addEventListener("load", done, { once: true }));
      this.frame = frame;
      document.body.append(frame);
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() { this.frame.remove(); }
  };
}
