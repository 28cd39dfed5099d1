import os

from plinth import Plinth

url = os.environ.get("PLINTH_URL", "http://127.0.0.1:8787")
secret = os.environ["DEMO_CLIENT_SECRET"]

with Plinth(url, client_id="demo.shop", client_secret=secret) as plinth:
    orders = plinth.topic("demo.shop", "pythonOrders")
    orders.create()  # does nothing if the topic exists
    orders.publish({"order": 4711})

    for event in orders.consume():
        print("order", event.json()["order"])
        event.ack()
        break  # a worker goes on
