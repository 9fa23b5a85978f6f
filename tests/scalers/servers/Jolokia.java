import com.sun.net.httpserver.BasicAuthenticator;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import javax.management.ObjectName;
import javax.management.StandardMBean;
import org.apache.activemq.broker.BrokerService;
import org.jolokia.backend.BackendManager;
import org.jolokia.config.ConfigKey;
import org.jolokia.config.Configuration;
import org.jolokia.http.HttpRequestHandler;
import org.jolokia.restrictor.AllowAllRestrictor;
import org.jolokia.util.LogHandler;

/** ActiveMQ behind Jolokia, and beans as Artemis has them: HTTP port, STOMP port, user, password. */
public class Jolokia {
    public interface QueueMBean {
        long getMessageCount();
    }

    public static void main(String[] given) throws Exception {
        BrokerService broker = new BrokerService();
        broker.setBrokerName("localhost");
        broker.setPersistent(false);
        broker.getManagementContext().setCreateConnector(false);
        broker.addConnector("stomp://127.0.0.1:" + given[1]);
        broker.start();
        broker.waitUntilStarted();
        artemis("orders", 42);
        artemis("a b/c", 7);
        serve(Integer.parseInt(given[0]), given[2], given[3]);
    }

    private static void artemis(String queue, long count) throws Exception {
        String name = "org.apache.activemq.artemis:broker=\"main\",component=addresses,address=\"addr\","
                + "subcomponent=queues,routing-type=\"anycast\",queue=\"" + queue + "\"";
        QueueMBean bean = () -> count;
        ManagementFactory.getPlatformMBeanServer()
                .registerMBean(new StandardMBean(bean, QueueMBean.class), new ObjectName(name));
    }

    private static void serve(int port, String user, String password) throws IOException {
        LogHandler log = new Quiet();
        Configuration configuration = new Configuration(ConfigKey.AGENT_ID, "test");
        BackendManager backend = new BackendManager(configuration, log, new AllowAllRestrictor(), false);
        HttpRequestHandler handler = new HttpRequestHandler(configuration, backend, log);
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
        for (String path : new String[] {"/api/jolokia", "/console/jolokia"}) {
            server.createContext(path, exchange -> answer(exchange, path, handler))
                    .setAuthenticator(new BasicAuthenticator("broker") {
                        public boolean checkCredentials(String one, String other) {
                            return one.equals(user) && other.equals(password);
                        }
                    });
        }
        server.start();
    }

    private static void answer(HttpExchange exchange, String path, HttpRequestHandler handler) throws IOException {
        Object found;
        try {
            String rest = exchange.getRequestURI().getPath().substring(path.length());
            found = handler.handleGetRequest(exchange.getRequestURI().toString(), rest, new HashMap<>());
        } catch (Throwable error) {
            found = handler.handleThrowable(error);
        }
        byte[] body = found.toString().getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(200, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    private static class Quiet implements LogHandler {
        public void debug(String message) {}

        public void info(String message) {}

        public void error(String message, Throwable error) {}

        public boolean isDebug() {
            return false;
        }
    }
}
